/* What is looked for in a whole page. Each function gives back what it found wrong, as text. */
({
  /** Visible texts whose contrast with what lies behind them is under 4.5 : 1 (3 : 1 for large type), WCAG 2 §1.4.3. */
  lowContrast: () => {
    const probe = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
    const colour = (css) => {
      probe.clearRect(0, 0, 1, 1); probe.fillStyle = '#000'; probe.fillStyle = css; probe.fillRect(0, 0, 1, 1);
      const [r, g, b, a] = probe.getImageData(0, 0, 1, 1).data; return [r, g, b, a / 255];
    };
    const over = ([r, g, b, a], [x, y, z]) => [r * a + x * (1 - a), g * a + y * (1 - a), b * a + z * (1 - a)];
    const behind = (element) => {
      const layers = [];
      for (let e = element; e; e = e.parentElement) layers.push(colour(getComputedStyle(e).backgroundColor));
      return layers.reverse().reduce((under, layer) => over(layer, under), [255, 255, 255]);
    };
    const light = (rgb) => {
      const [r, g, b] = rgb.map((v) => v / 255).map((v) => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
      return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const found = new Map();
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    let texts = 0;
    while (walker.nextNode()) {
      const text = walker.currentNode.textContent.trim(), element = walker.currentNode.parentElement;
      if (!text || !element.checkVisibility({opacityProperty: true, visibilityProperty: true})) continue;
      if (['SCRIPT', 'STYLE', 'NOSCRIPT', 'TEMPLATE'].includes(element.tagName)) continue;
      if (element.closest('.watermark')) continue; // it is read in spite of what stands on it; a note says the same
      const box = element.getBoundingClientRect();
      if (box.width < 2 || box.height < 2) continue;
      texts += 1;
      const style = getComputedStyle(element), back = behind(element);
      const ink = element instanceof SVGElement && style.fill !== 'none' ? style.fill : style.color;
      let alpha = 1;
      for (let e = element; e; e = e.parentElement) alpha *= Number(getComputedStyle(e).opacity);
      const [r, g, b, a] = colour(ink), front = over([r, g, b, a * alpha], back);
      const [high, low] = [light(front), light(back)].sort((x, y) => y - x), ratio = (high + 0.05) / (low + 0.05);
      const size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
      if (ratio < (large ? 3 : 4.5)) {
        const name = `${element.tagName.toLowerCase()}.${element.getAttribute('class') || ''} ${ink} on ${back}`;
        if (!found.has(name)) found.set(name, `${ratio.toFixed(2)} : 1 ${name} "${text.slice(0, 40)}"`);
      }
    }
    return {texts, faults: [...found.values()]};
  },

  /** Controls without a name, ids that occur twice, references to ids that do not exist, tables without headings. */
  badlyNamed: () => {
    const faults = [], say = (what, e) => faults.push(`${what}: ${e.outerHTML.slice(0, 160)}`);
    const byIds = (ids) => ids.split(/\s+/).map((id) => document.getElementById(id)?.textContent ?? '').join(' ');
    const name = (e) => (e.getAttribute('aria-label') || byIds(e.getAttribute('aria-labelledby') || '') ||
      [...(e.labels || [])].map((l) => l.textContent).join(' ') || e.textContent || e.title || '').trim();
    const controls = 'button, input, select, textarea, a[href], summary, [tabindex]:not([tabindex="-1"]), ' +
      '[role=button], [role=checkbox], [role=tab]';
    for (const e of document.querySelectorAll(controls)) if (!name(e)) say('has no name', e);
    for (const e of document.querySelectorAll('a:not([href])')) say('a link to nowhere', e);
    for (const e of document.querySelectorAll('[onclick]')) say('a handler in markup', e);
    for (const e of document.querySelectorAll('img:not([alt])')) say('a picture without words', e);
    for (const e of document.querySelectorAll('table')) if (!e.querySelector('th')) say('a table without headings', e);
    const ids = new Set();
    for (const e of document.querySelectorAll('[id]')) { if (ids.has(e.id)) say(`id ${e.id} again`, e); ids.add(e.id); }
    for (const attribute of ['aria-labelledby', 'aria-controls', 'aria-describedby', 'for'])
      for (const e of document.querySelectorAll(`[${attribute}]`))
        for (const id of e.getAttribute(attribute).split(/\s+/)) if (!ids.has(id)) say(`${attribute} names no element`, e);
    const levels = [...document.querySelectorAll('h1, h2, h3, h4, h5, h6')].filter((e) => e.checkVisibility());
    levels.forEach((e, i) => {
      if (i && Number(e.tagName[1]) > Number(levels[i - 1].tagName[1]) + 1) say('a level skipped', e);
    });
    if (levels.filter((e) => e.tagName === 'H1').length !== 1) faults.push('not exactly one h1');
    if (!document.documentElement.lang) faults.push('no language');
    return faults;
  },

  /** Characters that cannot be seen or that turn the direction of a line, in texts and in attributes of the page. */
  invisibleCharacters: (root) => {
    const bad = /(?![\n\t\u200c\u200d\ufe0f])[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}]/u, found = new Set();
    const look = (text, where) => { const m = bad.exec(text);
      if (m) found.add(`U+${m[0].codePointAt(0).toString(16)} in ${where}: ${JSON.stringify(text.slice(0, 80))}`); };
    const walker = document.createTreeWalker(document.querySelector(root), NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT);
    while (walker.nextNode()) {
      const node = walker.currentNode;
      if (node.nodeType === Node.TEXT_NODE) {
        if (!['SCRIPT', 'STYLE'].includes(node.parentElement.tagName)) look(node.data, node.parentElement.tagName);
      } else for (const a of node.attributes) look(a.value, `${node.tagName} ${a.name}`);
    }
    return [...found];
  },

  /** Attributes that run or fetch something, and elements that hold a foreign document. */
  activeContent: (root) => {
    const found = [];
    for (const e of document.querySelectorAll(`${root}, ${root} *`)) {
      if (/^(iframe|object|embed|base|link|form|img|audio|video|foreignobject)$/i.test(e.tagName))
        found.push(e.outerHTML.slice(0, 120));
      for (const a of e.attributes) {
        if (a.name.startsWith('on') || a.name === 'srcdoc' || a.name === 'ping') found.push(`${e.tagName} ${a.name}`);
        if (['href', 'src', 'xlink:href', 'action'].includes(a.name) && !/^(#|data:)/.test(a.value))
          found.push(`${e.tagName} ${a.name}=${a.value.slice(0, 100)}`);
      }
    }
    return found;
  },

  /** What makes the page wider than its window: texts and boxes that stick out and lie in nothing that scrolls. */
  overflows: () => {
    if (document.documentElement.scrollWidth <= innerWidth) return [];
    const scrolls = (e) => e && e !== document.body &&
      (/auto|scroll|hidden|clip/.test(getComputedStyle(e).overflowX) || scrolls(e.parentElement));
    const found = [`the page is ${document.documentElement.scrollWidth} wide`];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT);
    const range = document.createRange();
    while (walker.nextNode() && found.length < 6) {
      const node = walker.currentNode;
      range.selectNode(node);
      if (range.getBoundingClientRect().right > innerWidth + 1 && !scrolls(node.parentElement))
        found.push((node.outerHTML ?? node.data).slice(0, 120));
    }
    return found;
  },

  /** The kind of each element but of the chunks of compressed data, of which a run has as many as it needs. */
  census: () => [...document.querySelectorAll('*:not([id^=chunk-])')].map((e) => e.tagName.toLowerCase()),
})
