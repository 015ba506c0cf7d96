(() => {
  "use strict";
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  const figures = read("figures"), pairs = read("colours");
  const night = matchMedia("(prefers-color-scheme: dark)");
  const touch = matchMedia("(pointer: coarse)").matches;
  const charts = [...document.querySelectorAll(".chart[data-figure]")];
  let paper = false, moving = false;

  const recolour = (v) => {
    if (typeof v === "string") return Object.hasOwn(pairs, v) ? pairs[v] : v;
    if (Array.isArray(v)) return v.map(recolour);
    if (v && typeof v === "object") return Object.fromEntries(Object.entries(v).map(([k, x]) => [k, recolour(x)]));
    return v;
  };

  // Plotly draws moments in the reader's own time, so the axis must not be called UTC where that is another.
  const nameZone = (layout) => {
    const range = layout.meta && layout.meta.time && layout.xaxis && layout.xaxis.range;
    const at = new Date(range ? range[0] : NaN);
    if (!range || !at.getTimezoneOffset()) return;
    const name = at.toLocaleTimeString("en", {timeZoneName: "short"}).split(" ").pop().replace("GMT", "UTC");
    Object.keys(layout).filter((k) => /^xaxis/.test(k)).forEach((k) => {
      if (layout[k].hoverformat) layout[k].hoverformat = layout[k].hoverformat.replace("UTC", name);
    });
    (layout.annotations || []).forEach((a) => { if (a.text === "UTC") a.text = name; });
  };

  const fit = (layout, width) => {
    nameZone(layout);
    if (width < 560 && layout.meta && layout.meta.time) {
      layout.margin = {...layout.margin, l: Math.min(84, layout.margin.l), r: 80};
      Object.keys(layout).filter((k) => /^xaxis/.test(k)).forEach((k) => { layout[k].nticks = 3; });
    }
    if (touch) layout.dragmode = false;
    return layout;
  };

  const draw = (div) => {
    const width = paper ? 640 : div.clientWidth;
    if (!width) return;
    const figure = figures[Number(div.dataset.figure)];
    const {data, layout} = night.matches && !paper ? recolour(figure) : structuredClone(figure);
    fit(layout, width);
    if (paper) { layout.width = width; layout.autosize = false; }
    Plotly.react(div, data, layout, {displayModeBar: false, responsive: true, doubleClick: "reset"});
    if (!div.dataset.drawn && layout.meta && layout.meta.time) div.on("plotly_relayout", (change) => follow(div, change));
    div.dataset.drawn = "yes";
  };

  // A stretch of time that is looked at closely on one chart is looked at on all.
  const follow = (from, change) => {
    const keys = Object.keys(change).filter((k) => /^xaxis\d*\.(range|autorange)/.test(k));
    if (moving || !keys.length) return;
    moving = true;
    const [start, end] = from.layout.xaxis.range;
    Promise.all(charts.filter((div) => div !== from && div.dataset.drawn && div.layout.meta && div.layout.meta.time)
      .map((div) => Plotly.relayout(div, {"xaxis.range": [start, end]}))).finally(() => { moving = false; });
  };

  const reveal = () => {
    const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let at = target; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
    if (target) target.scrollIntoView();
  };

  const copy = async (button) => {
    try {
      await navigator.clipboard.writeText(button.dataset.copy);
      button.textContent = "copied";
    } catch {
      const range = document.createRange();
      range.selectNodeContents(button.parentElement.querySelector("code"));
      getSelection().removeAllRanges();
      getSelection().addRange(range);
      button.textContent = "selected";
    }
    setTimeout(() => { button.textContent = "copy"; }, 1500);
  };

  charts.forEach(draw);
  night.addEventListener("change", () => charts.forEach(draw));
  document.querySelectorAll("details").forEach((d) => d.addEventListener("toggle", () => {
    if (d.open) d.querySelectorAll(".chart[data-figure]").forEach(draw);
  }));
  document.querySelectorAll("button.copy").forEach((b) => { b.hidden = false; b.addEventListener("click", () => copy(b)); });
  const zone = new Date().getTimezoneOffset();
  if (zone) document.querySelectorAll("time.local").forEach((t) => {
    t.textContent = ` (${new Date(t.dateTime).toLocaleTimeString()} here)`;
  });
  let opened = [];
  addEventListener("beforeprint", () => {
    paper = true;
    opened = [...document.querySelectorAll("details:not([open])")];
    opened.forEach((d) => { d.open = true; });
    charts.forEach(draw);
  });
  addEventListener("afterprint", () => {
    paper = false;
    opened.forEach((d) => { d.open = false; });
    charts.forEach(draw);
  });
  addEventListener("hashchange", reveal);
  reveal();
})();
