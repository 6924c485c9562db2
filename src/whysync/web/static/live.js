// Live updates: the server says that something changed, and the page fetches itself again. Without this file
// the pages work as well; they are then as old as the last reload.
(() => {
  "use strict";
  const main = () => document.getElementById("main");
  document.documentElement.classList.add("has-script");

  // --- updates ---------------------------------------------------------------------------------------------

  const state = document.getElementById("live");
  let updating = false, again = false, timer = 0, updated = 0, lost = false;
  let change = document.body.dataset.change || "0";  // the last one that the server reported

  const show = (word, css) => {
    if (!state) return;
    state.hidden = false;
    state.textContent = word;
    state.className = "live " + css;
  };

  // Which <details> are open, what is focused, and how far parts are scrolled, by keys that stay the same.
  const remember = () => {
    const open = new Map();
    for (const part of main().querySelectorAll("details[data-key]")) open.set(part.dataset.key, part.open);
    const scrolled = [...main().querySelectorAll("[tabindex='0']")]
      .filter((part) => part.scrollLeft || part.scrollTop)
      .map((part) => [placeOf(part), part.scrollLeft, part.scrollTop]);
    return { open, scrolled, focus: placeOf(document.activeElement), x: scrollX, y: scrollY };
  };
  const keyOf = (element) => {
    if (element.id) return "#" + CSS.escape(element.id);
    for (const name of ["data-key", "data-app", "href"])
      if (element.getAttribute(name)) {
        const key = `#main [${name}="${CSS.escape(element.getAttribute(name))}"]`;
        if (document.querySelectorAll(key).length === 1) return key;
      }
    return null;
  };
  // The nearest element with a key, and the way from it: the second child of the first child …
  const placeOf = (element) => {
    if (!element || element === main() || !main().contains(element)) return null;
    const steps = [];
    for (let part = element; part !== main(); part = part.parentElement) {
      const key = keyOf(part);
      if (key) return { key, steps, tag: element.tagName };
      steps.unshift([...part.parentElement.children].indexOf(part));
    }
    return { key: "#main", steps, tag: element.tagName };
  };
  const at = (place) => {
    let part = place && document.querySelector(place.key);
    for (const step of place ? place.steps : []) part = part && part.children[step];
    return part && part.tagName === place.tag ? part : null;
  };
  const restore = (before) => {
    for (const part of main().querySelectorAll("details[data-key]"))
      if (before.open.has(part.dataset.key)) part.open = before.open.get(part.dataset.key);
    for (const [place, x, y] of before.scrolled) {
      const part = at(place);
      if (part) part.scrollTo(x, y);
    }
    if (before.focus) (at(before.focus) || main()).focus({ preventScroll: true });
    scrollTo(before.x, before.y);
  };
  const seen = () => new Set([...main().querySelectorAll("[data-app]")].map((row) => row.dataset.app));

  // An update would close an open list and drop a selection.
  const busy = () => {
    const selection = getSelection();
    const selects = !selection.isCollapsed && main().contains(selection.anchorNode);
    return selects || Boolean(document.activeElement && document.activeElement.matches("select"));
  };

  async function update(url, push) {
    if (updating) { again = true; return; }
    if (!push && busy()) { later(); return; }
    updating = true;
    updated = Date.now();
    try {
      const response = await fetch(url || location.href, { headers: { Accept: "text/html", "X-Whysync-Change": change }, credentials: "same-origin" });
      if (response.redirected && new URL(response.url).pathname === "/login") { location.reload(); return; }
      const text = await response.text();
      const next = new DOMParser().parseFromString(text, "text/html");
      const fresh = next.getElementById("main");
      if (!fresh) return;
      if (push) history.replaceState(null, "", url);
      document.title = next.title;
      if (fresh.innerHTML !== main().innerHTML) {
        const before = remember(), apps = seen();
        const typed = document.activeElement && document.activeElement.id === "search" ? document.activeElement : null;
        const caret = typed ? [typed.value, typed.selectionStart, typed.selectionEnd] : null;
        main().innerHTML = fresh.innerHTML;
        if (caret) {
          const field = document.getElementById("search");
          if (field) { field.value = caret[0]; field.focus({ preventScroll: true }); field.setSelectionRange(caret[1], caret[2]); }
        }
        restore(before);
        if (!push && apps.size) for (const row of main().querySelectorAll("[data-app]")) if (!apps.has(row.dataset.app)) row.classList.add("fresh");
        const heading = main().querySelector("h1");
        if (heading && !push) announce(heading.textContent);
      }
    } catch (_) {
      // the stream reports whether the server is away
    } finally {
      updating = false;
      if (again) { again = false; later(); }
    }
  }
  // The page of one app or incident does not change with others.
  const page = main().querySelector("[data-page-app]");
  const concerns = (data) => !page || !data.name || page.dataset.pageApp === [data.instance, data.namespace, data.name].filter(Boolean).join("/");

  let announced = "";
  const announce = (text) => {
    if (text === announced) return;
    announced = text;
    document.getElementById("announcer").textContent = text;
  };
  // Soon, but not more often than once a second, however often the fleet changes.
  const later = () => {
    if (timer) return;
    timer = setTimeout(() => { timer = 0; update(); }, Math.max(250, updated + 1000 - Date.now()));
  };

  if (state && "EventSource" in window) {
    const stream = new EventSource("/api/v1/events?after=" + encodeURIComponent(change));
    // after a restart of the server its changes are counted anew, and some were not reported
    stream.addEventListener("open", () => { show("live", "on"); if (lost) { lost = false; change = "0"; later(); } });
    stream.addEventListener("error", () => { show("reconnecting", "off"); lost = true; });
    for (const kind of ["app", "incident", "source"])
      stream.addEventListener(kind, (event) => {
        change = event.lastEventId;
        if (concerns(JSON.parse(event.data))) later();
      });
    addEventListener("pagehide", () => stream.close());
    addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
  }
  setInterval(() => { if (!document.hidden) later(); }, 30000);  // ages grow

  // --- links to a part of a page ---------------------------------------------------------------------------

  const openTarget = () => {
    const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
    if (!target) return;
    for (let part = target; part && part !== main(); part = part.parentElement) if (part.matches("details")) part.open = true;
    target.scrollIntoView();
  };
  addEventListener("hashchange", openTarget);
  if (location.hash) openTarget();

  // --- filters: applied while typing -----------------------------------------------------------------------

  let wait = 0;
  const submit = (form) => {
    const values = new URLSearchParams();
    for (const [name, value] of new FormData(form)) if (value) values.set(name, value);
    const query = values.toString();
    update(form.getAttribute("action") + (query ? "?" + query : ""), true);
  };
  document.addEventListener("input", (event) => {
    const form = event.target.closest("form[data-live]");
    if (!form) return;
    clearTimeout(wait);
    wait = setTimeout(() => submit(form), event.target.matches("select") ? 0 : 200);
  });
  document.addEventListener("submit", (event) => {
    if (!event.target.matches("form[data-live]")) return;
    event.preventDefault();
    submit(event.target);
  });

  // --- copy buttons and keys -------------------------------------------------------------------------------

  document.addEventListener("click", async (event) => {
    const button = event.target.closest("button[data-copy]");
    if (!button) return;
    const text = document.getElementById(button.dataset.copy).textContent;
    let done = true;
    try { await navigator.clipboard.writeText(text); } catch (_) { done = false; }
    button.textContent = done ? "Copied" : "Press Ctrl+C";
    if (!done) getSelection().selectAllChildren(document.getElementById(button.dataset.copy));
    announce(button.textContent);
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  });

  const rows = () => [...main().querySelectorAll(".rows a.app")];
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const inField = event.target.matches("input, select, textarea");
    if (event.key === "Escape" && inField) { event.target.blur(); return; }
    if (inField) return;
    if (event.key === "/") {
      const field = document.getElementById("search");
      if (field) { event.preventDefault(); field.focus(); field.select(); }
    } else if (event.key === "j" || event.key === "k") {
      const links = rows();
      if (!links.length) return;
      const at = links.indexOf(document.activeElement);
      const next = event.key === "j" ? Math.min(at + 1, links.length - 1) : Math.max(at - 1, 0);
      event.preventDefault();
      links[next].focus();
    }
  });
})();
