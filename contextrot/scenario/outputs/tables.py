"""Aligned tables: kubectl, docker, df, ps, psql, and Markdown as some tools answer in."""

from __future__ import annotations

from contextrot.scenario.outputs.style import Style

TABLES: tuple[Style, ...] = (
    Style(
        head="NAME                               READY   STATUS             RESTARTS   AGE\n",
        entries=(
            "<podname:35><ready:8><podstate:19><n1:11><age>",
            "<podname:35><ready:8>Running            0          <age>",
            "<podname:35>1/1     Running            0          <age>",
        ),
        foot="\nWarning: <pad>",
    ),
    Style(
        head="NAMESPACE     NAME            TYPE        CLUSTER-IP       PORT(S)           AGE\n",
        entries=(
            "<namespace:14><service:16>ClusterIP   <ip:17><port>/TCP          <age>",
            "<namespace:14><service:16>NodePort    <ip:17><port>:<nodeport>/TCP    <age>",
            "<namespace:14><service:16>ClusterIP   <ip:17>80/TCP,443/TCP    <age>",
        ),
        foot="\nWarning: <pad>",
    ),
    Style(
        head="CONTAINER ID   IMAGE           STATUS             SIZE     NAMES\n",
        entries=(
            "<hex12:15><image:16>Up <n2> hours        <n3> MB   <service>",
            "<hex12:15><image:16>Up <n2> minutes      <n2> MB    <service>",
            "<hex12:15><image:16>Exited (<n1>)         <n3> MB   <service>",
        ),
        foot="\nlevel=warning msg=\"<pad>\"",
    ),
    Style(
        head="Filesystem               Size  Used Avail Use% Mounted on\n",
        entries=(
            "<device:23><n3:5r>G<n2:5r>G<n2:5r>G<n2:4r>% <mount>",
            "<device:23><f1:5r>T<n3:5r>G<n3:5r>G<n2:4r>% <mount>",
        ),
        foot="\ndf: <mount>: <pad>",
    ),
    Style(
        head="USER         PID %CPU %MEM    VSZ    RSS STAT START   TIME COMMAND\n",
        entries=(
            "<user:10><n5:6r><f1:5r><f1:5r><n6:7r><n5:7r> Ss   <minute>   0:<sixty> <process>",
            "<user:10><n5:6r><pct:5r><f1:5r><n6:7r><n6:7r> Sl   <minute>   <n1>:<sixty> <process>",
        ),
        foot="\n# <pad>",
        least=100,
    ),
    Style(
        head=" order_id | customer       | city    | state     |  total | due\n"
        "----------+----------------+---------+-----------+--------+------------\n",
        entries=(
            "<serial:9r> | <company:14> | <city:7> | <orderstate:9> | <money:6r> | 2025-0<n1>-1<n1>",
            "<serial:9r> | <company:14> | <city:7> | <orderstate:9> | <money:6r> |",
        ),
        foot="\n(all rows)\n\nNOTICE:  <pad>",
        least=220,
    ),
    Style(
        head=" table_name | rows    | size   | last_vacuum\n------------+---------+--------+-------------\n",
        entries=(" <table:10> | <n6:7r> | <n3> MB | <clock>", " <table:10> | <n4:7r> | <n2> kB  |"),
        foot="\n\nNOTICE:  <pad>",
        least=170,
    ),
    Style(
        head="| article | city | stock | price | state |\n|---|---|---|---|---|\n",
        entries=("| <product> | <city> | <n3> | <f2> | <orderstate> |", "| <product> | <city> | <n2> | <n2>.<n2> | |"),
        foot="\n\nSource: <table>; <pad>",
        least=120,
    ),
    Style(
        head="NAME          STATUS     CPU(cores)   CPU%   MEMORY(bytes)   MEMORY%\n",
        entries=("<node:14>Ready      <cpu:13><n2>%    <n4>Mi          <n2>%", "<node:14>NotReady   <cpu:13><n1>% "
        "    <mem:16><n1>%"),
        foot="\nerror: metrics for <node> not yet there: <pad>",
    ),
)  # fmt: skip
