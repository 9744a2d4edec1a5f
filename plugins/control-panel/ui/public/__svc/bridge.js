// For pages of plugins: `const gateway = await svcPanel.connect()`. A page has no network; this is its only way out.
globalThis.svcPanel = (() => {
  const HELLO = "svc-panel:hello";
  const root = document.documentElement;

  /** Colours and language of the panel, as CSS variables and attributes of the page. */
  function dress({ theme, locale, colors }) {
    root.dataset.theme = theme;
    root.style.colorScheme = theme;
    root.lang = locale;
    for (const [name, value] of Object.entries(colors)) root.style.setProperty(name, value);
  }

  function gatewayOn(port, first) {
    const waiting = new Map();
    const listeners = new Map();
    const themes = new Set();
    let looks = first;
    let nextId = 1;
    const listening = (name) => listeners.get(name) ?? listeners.set(name, new Set()).get(name);
    port.onmessage = ({ data }) => {
      if (data.looks) {
        looks = data.looks;
        dress(looks);
        for (const listener of themes) listener(looks.theme);
      } else if (data.fresh) {
        for (const listener of listening("svc-panel:fresh")) listener();
      } else if (data.event !== undefined) {
        for (const listener of listening(data.event)) listener(data.payload);
      } else {
        const call = waiting.get(data.id);
        waiting.delete(data.id);
        if (data.error) call?.reject(Object.assign(new Error(data.error.message), { code: data.error.code }));
        else call?.resolve(data.result);
      }
    };
    const on = (set, listener) => {
      set.add(listener);
      return () => set.delete(listener);
    };
    return {
      /** Calls a method of the page's plugin. Rejects with an Error whose `code` is that of the gateway. */
      call(method, params = {}) {
        const id = nextId++;
        return new Promise((resolve, reject) => {
          waiting.set(id, { resolve, reject });
          port.postMessage({ id, method, params });
        });
      },
      /** Listens to an event of the page's plugin. Returns a function that stops. */
      on: (event, listener) => on(listening(event), listener),
      /** Called when events may have been missed: load the shown data again. */
      onFresh: (listener) => on(listening("svc-panel:fresh"), listener),
      onTheme: (listener) => on(themes, listener),
      get theme() {
        return looks.theme;
      },
      get locale() {
        return looks.locale;
      },
    };
  }

  return {
    /** Resolves once the panel has answered; never in a page that is opened outside of the panel. */
    connect() {
      return new Promise((resolve) => {
        addEventListener("message", function answered({ source, data, ports }) {
          if (source !== parent) return;
          if (data?.kind !== HELLO || !ports[0]) return;
          removeEventListener("message", answered);
          dress(data);
          resolve(gatewayOn(ports[0], data));
        });
        parent.postMessage(HELLO, "*");
      });
    },
  };
})();
