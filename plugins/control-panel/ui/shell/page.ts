/** A page of a plugin in a sandboxed frame. It talks to the panel through a message channel, and only about its own plugin. */
import { panel, type PanelPageEntry } from "@svc/sdk/panel";
import { isGatewayError } from "@svc/sdk/errors";
import { html, nothing } from "lit";
import { keyed } from "lit/directives/keyed.js";
import { ref } from "lit/directives/ref.js";
import type { OpenView, ViewContext } from "../core/app.ts";
import { BASE } from "../core/address.ts";
import { locale, t } from "../core/text.ts";
import { empty, show } from "../parts/show.ts";

/** First message of a page; the answer carries the port. */
const HELLO = "svc-panel:hello";
/** Calls of one page that may wait. */
const MAX_WAITING = 32;

export default ((context) => {
  const pages = context.resource(async () => (await context.call(panel.pages, {})).pages);
  const bridge = createBridge(context);
  return {
    render() {
      const id = context.place.params.get("id");
      return show(pages, (all) => {
        const page = all.find((entry) => entry.id === id);
        if (!page) return empty(t.shell.missingView, t.shell.missingViewText);
        const source = new URL(`__svc/pages/${encodeURIComponent(page.id)}/`, BASE);
        return html`${
          page.refused.length > 0
            ? html`<p class="notice warning">${t.pages.refused(page.refused.join(", "))}</p>`
            : nothing
        }
        ${keyed(
          page.id,
          html`<iframe
            class="plugin-page"
            title=${page.title}
            src=${source.href}
            sandbox="allow-scripts allow-forms allow-modals"
            referrerpolicy="no-referrer"
            ${ref((frame) => frame && bridge.expect(frame as HTMLIFrameElement, page))}
          ></iframe>`,
        )}`;
      });
    },
  };
}) satisfies OpenView;

interface Bridge {
  /** Answers the hello of this frame from now on; a page may say it before it has loaded. */
  expect(frame: HTMLIFrameElement, page: PanelPageEntry): void;
}

/** Answers the hello of the frame that is shown, with a port for this page alone. */
function createBridge(context: ViewContext): Bridge {
  let expected: { readonly frame: HTMLIFrameElement; readonly page: PanelPageEntry } | undefined;
  let open: AbortController | undefined;
  const greet = (event: MessageEvent<unknown>) => {
    // Both are null if the sender's window and the frame are gone.
    if (!expected || !event.source || event.source !== expected.frame.contentWindow || event.data !== HELLO) return;
    open?.abort();
    open = new AbortController();
    const { port1, port2 } = new MessageChannel();
    serve(port1, expected.page, context, open.signal);
    // A sandboxed frame has the origin `null`, which cannot be addressed; `source` is its window, and nobody else's.
    (event.source as Window).postMessage({ kind: HELLO, ...looks() }, "*", [port2]);
  };
  window.addEventListener("message", greet, { signal: context.signal });
  context.signal.addEventListener("abort", () => open?.abort());
  return {
    expect(frame, page) {
      if (frame !== expected?.frame) open?.abort(); // the page before it is gone
      expected = { frame, page };
    },
  };
}

interface Ask {
  readonly id: number;
  readonly method: string;
  readonly params: unknown;
}

function serve(port: MessagePort, page: PanelPageEntry, context: ViewContext, signal: AbortSignal): void {
  let waiting = 0;
  const stops = [
    context.connection.onEvent(({ event, payload }) => {
      if (page.events.includes(event)) port.postMessage({ event, payload });
    }),
    context.connection.onFresh(() => port.postMessage({ fresh: true })),
  ];
  const themes = new MutationObserver(() => port.postMessage({ looks: looks() }));
  themes.observe(document.documentElement, { attributeFilter: ["data-theme", "lang"] });
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const changed = () => port.postMessage({ looks: looks() });
  dark.addEventListener("change", changed, { signal });
  signal.addEventListener("abort", () => {
    for (const stop of stops) stop();
    themes.disconnect();
    port.close();
  });
  port.onmessage = async ({ data }: MessageEvent<unknown>) => {
    const { id, method, params } = Object(data) as Partial<Ask>;
    if (typeof id !== "number" || typeof method !== "string") return;
    const refuse = (code: string, message: string) => port.postMessage({ id, error: { code, message } });
    if (!page.methods.includes(method)) return refuse("FORBIDDEN", `this page may not call ${method}`);
    if (waiting >= MAX_WAITING) return refuse("UNAVAILABLE", "too many calls of this page wait");
    waiting++;
    try {
      port.postMessage({ id, result: await context.request(method, params) });
    } catch (error) {
      refuse(isGatewayError(error) ? error.code : "INTERNAL", error instanceof Error ? error.message : String(error));
    } finally {
      waiting--;
    }
  };
}

/** What a page needs to look like the panel. */
function looks(): { theme: "light" | "dark"; locale: string; colors: Record<string, string> } {
  const style = getComputedStyle(document.documentElement);
  const names = [
    "--text",
    "--quiet",
    "--ground",
    "--surface",
    "--raised",
    "--line",
    "--accent",
    "--on-accent",
    "--good",
    "--warning",
    "--bad",
    "--font",
    "--mono",
  ];
  const { theme } = document.documentElement.dataset;
  const isDark = theme === "dark" || (theme !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  return {
    theme: isDark ? "dark" : "light",
    locale,
    colors: Object.fromEntries(names.map((name) => [name, style.getPropertyValue(name).trim()])),
  };
}
