// What is wrong with the page, as sentences: plots without axes, units or legend; texts over each other, cut off, too small or
// too pale; a page that has to be moved sideways.
(async () => {
  if (document.readyState !== 'complete') await new Promise(done => addEventListener('load', done));
  await document.fonts.ready;
  const wrong = [];
  const apart = (a, b) => a.right <= b.left || b.right <= a.left || a.bottom <= b.top || b.bottom <= a.top;
  // Ink does not fill a line's box: a seventh above and below is free.
  const ink = r => ({ left: r.left + 0.5, right: r.right - 0.5, top: r.top + r.height / 7, bottom: r.bottom - r.height / 7 });
  const rgb = s => (s.match(/[\d.]+/g) || []).map(Number);
  const light = c => {
    const [r, g, b] = c.map(v => v / 255).map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const background = e => {
    for (; e; e = e.parentElement) {
      const c = rgb(getComputedStyle(e).backgroundColor);
      if (c.length === 3 || c[3] > 0) return c.slice(0, 3);
    }
    return [255, 255, 255];
  };
  const contrast = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); };
  const overlaps = (what, boxes) => {
    for (let i = 0; i < boxes.length; i++) for (let j = 0; j < i; j++)
      if (!apart(boxes[i].box, boxes[j].box)) wrong.push(`${what}: "${boxes[j].text}" and "${boxes[i].text}" lie over each other`);
  };
  const plots = [...document.querySelectorAll('svg.plot')];
  if (plots.length === 0) wrong.push('there is no plot');
  for (const p of plots) {
    const name = 'plot ' + p.getAttribute('aria-label');
    for (const part of ['.axis.x .line', '.axis.y .line', '.axis.x .unit', '.legend .key'])
      if (!p.querySelector(part)) wrong.push(`${name}: no ${part}`);
    for (const u of p.querySelectorAll('.unit, .key')) if (!u.textContent.trim()) wrong.push(`${name}: an empty ${u.getAttribute('class')}`);
    const frame = p.getBoundingClientRect();
    const scale = frame.width / p.viewBox.baseVal.width;
    const texts = [...p.querySelectorAll('text')];
    for (const t of texts) {
      const r = t.getBoundingClientRect();
      if (r.left < frame.left - 1 || r.right > frame.right + 1 || r.top < frame.top - 2 || r.bottom > frame.bottom + 2) wrong.push(`${name}: "${t.textContent}" is cut off`);
      const of = contrast(rgb(getComputedStyle(t).fill), background(p));
      if (of < 4.5) wrong.push(`${name}: "${t.textContent}" is pale, ${of.toFixed(1)}`);
    }
    const px = parseFloat(p.getAttribute('font-size')) * scale;
    if (px < 8.4) wrong.push(`${name}: letters of ${px.toFixed(1)} pixels`);
    overlaps(name, texts.map(t => ({ text: t.textContent, box: ink(t.getBoundingClientRect()) })));
    for (const m of p.querySelectorAll('.bar, .mark')) {
      const of = contrast(rgb(getComputedStyle(m).fill), background(p));
      if (of < 2.5) wrong.push(`${name}: a ${m.getAttribute('class')} is pale, ${of.toFixed(1)}`);
    }
  }
  const leaves = [...document.querySelectorAll('h1, h2, h3, p, li, figcaption, th, td, summary')].filter(e => e.checkVisibility() && e.textContent.trim());
  const boxes = leaves.map(e => { const range = document.createRange(); range.selectNodeContents(e); return { text: e.textContent.trim().slice(0, 40), box: ink(range.getBoundingClientRect()) }; });
  overlaps('page', boxes);
  for (const e of leaves) {
    const of = contrast(rgb(getComputedStyle(e).color), background(e));
    if (of < 4.5) wrong.push(`page: "${e.textContent.trim().slice(0, 40)}" is pale, ${of.toFixed(1)}`);
  }
  if (document.documentElement.scrollWidth > innerWidth + 1) wrong.push(`the page is ${document.documentElement.scrollWidth} wide, the window ${innerWidth}`);
  if (document.querySelector('details[open]')) wrong.push('raw numbers are not folded away');
  return wrong;
})()
