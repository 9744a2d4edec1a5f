/** The frame around every view: navigation, state of the connection, settings of the panel. */
import { execApproval, execApprovalRequested, execApprovalResolved } from "@svc/sdk/approvals";
import { panel, type PanelPageEntry } from "@svc/sdk/panel";
import { html, nothing, type TemplateResult } from "lit";
import { BadgeCheck, Menu, Puzzle, SlidersHorizontal } from "lucide";
import { hrefOf } from "../core/address.ts";
import { type App, contextFor, type View } from "../core/app.ts";
import { t } from "../core/text.ts";
import { closeDialogs } from "../parts/dialog.ts";
import { icon } from "../parts/icon.ts";
import { empty, failed, waiting } from "../parts/show.ts";
import { dropToasts, toast } from "../parts/toast.ts";
import { VIEWS, type ViewEntry } from "../views/index.ts";
import { openSettings } from "./settings.ts";
import { signIn } from "./sign-in.ts";

export interface Shell {
  render(): TemplateResult;
}

/** An open view, or what stands in for it. */
interface Open {
  readonly id: string;
  readonly ended: AbortController;
  view?: View;
  error?: unknown;
  /** Query of the address that the view knows. */
  query: string;
}

export function createShell(app: App): Shell {
  let open: Open | undefined;
  let isMenuOpen = false;
  const forever = contextFor(app, new AbortController().signal);
  const approvals = forever.resource(
    async () =>
      app.serves(execApproval.list) && app.may("operator.approvals")
        ? (await app.call(execApproval.list, {})).approvals.filter(({ status }) => status === "pending").length
        : 0,
    { events: [execApprovalRequested, execApprovalResolved], everyMs: 30_000 },
  );
  forever.on(execApprovalRequested, ({ request: { command } }) => {
    if (app.place.view === "approvals" && !document.hidden) return;
    const run = () => app.go("approvals");
    toast(t.approvals.arrived(cut(command)), "accent", { label: t.approvals.look, run });
  });
  forever.onFresh(() => {
    if (open?.error !== undefined) close(); // its file could not be loaded while the gateway was away
  });
  const pages = forever.resource(async () =>
    app.serves(panel.pages) ? (await app.call(panel.pages, {})).pages : ([] as PanelPageEntry[]),
  );

  const isOffered = ({ scope = "operator.read", needs }: ViewEntry) =>
    app.may(scope) && (needs.length === 0 || needs.some((method) => app.serves(method)));

  function show(): Open {
    const { view: id, params } = app.place;
    const query = params.toString();
    if (open?.id !== id) {
      close();
      open = { id, ended: new AbortController(), query };
      isMenuOpen = false;
      void load(open);
    } else if (open.query !== query) {
      open.query = query;
      open.view?.navigated?.(params);
    }
    return open;
  }

  function close(): void {
    open?.ended.abort();
    open = undefined;
  }

  async function load(opened: Open): Promise<void> {
    const entry = VIEWS.find(({ id }) => id === opened.id);
    try {
      const context = contextFor(app, opened.ended.signal);
      const { default: openView } = opened.id === "page" ? await import("./page.ts") : ((await entry?.load()) ?? {});
      if (opened.ended.signal.aborted) return;
      if (openView) opened.view = openView(context);
    } catch (error) {
      opened.error = error; // the file of the view could not be loaded
    }
    app.redraw();
  }

  function content(): TemplateResult {
    const { id, view, error } = show();
    const entry = VIEWS.find((known) => known.id === id);
    if (error !== undefined) return failed(error, () => location.reload());
    if (id !== "page" && (!entry || !isOffered(entry))) return empty(t.shell.missingView, t.shell.missingViewText);
    try {
      return view?.render() ?? waiting();
    } catch (failure) {
      console.error(failure); // the navigation stays usable
      return failed(failure, app.redraw);
    }
  }

  /** Where people are led without a choice of their own: the first view that this browser may use. */
  function home(wanted: string): string {
    const offered = VIEWS.filter(isOffered);
    return (offered.find(({ id }) => id === wanted) ?? offered[0])?.id ?? wanted;
  }

  function link(id: string, text: string, symbol: TemplateResult, params: Record<string, string> = {}): TemplateResult {
    const href = hrefOf(id, params);
    const { view, params: shown } = app.place;
    const isHere = view === id && (params["id"] === undefined || params["id"] === shown.get("id"));
    const count = id === "approvals" ? (approvals.value ?? 0) : 0;
    return html`<a href=${href} aria-current=${isHere ? "page" : nothing} @click=${() => (isMenuOpen = false)}>
      ${symbol}<span>${text}</span>${
        count > 0 ? html`<span class="count" aria-label=${t.shell.waitingApprovals(count)}>${count}</span>` : nothing
      }
    </a>`;
  }

  function navigation(): TemplateResult {
    const groups = ["talk", "run", "system"] as const;
    const added = pages.value ?? [];
    return html`<nav class=${isMenuOpen ? "open" : ""} aria-label=${t.shell.navigation}>
      ${groups.map(
        (group) =>
          html`<h2>${t.shell[group]}</h2>
            ${VIEWS.filter((entry) => entry.group === group && isOffered(entry)).map(({ id, icon: symbol }) =>
              link(id, t.views[id], icon(symbol)),
            )}`,
      )}
      ${
        added.length === 0
          ? nothing
          : html`<h2>${t.shell.fromPlugins}</h2>
              ${added.map(({ id, title, icon: symbol }) =>
                link(
                  "page",
                  title,
                  symbol === undefined ? icon(Puzzle) : html`<span class="icon" aria-hidden="true">${symbol}</span>`,
                  {
                    id,
                  },
                ),
              )}`
      }
    </nav>`;
  }

  /** Who is not signed in sees nothing of what was open. */
  function leave(): void {
    close();
    closeDialogs();
    dropToasts();
    document.title = "svc";
  }

  return {
    render() {
      const { state, client } = app.connection;
      const isIn = client !== undefined && (state.kind === "connected" || state.kind === "reconnecting");
      if (!isIn) {
        if (state.kind !== "connecting" && state.kind !== "unreachable") leave(); // who signs in next may have other rights
        return signIn(app, state);
      }
      if (location.pathname === hrefOf("") && app.place.view !== home(app.place.view))
        app.go(home(app.place.view), {}, { replace: true });
      const { view } = app.place;
      const name =
        view === "page"
          ? (pages.value?.find(({ id }) => id === app.place.params.get("id"))?.title ?? "")
          : Object.hasOwn(t.views, view)
            ? t.views[view as keyof typeof t.views]
            : "";
      const waitingCount = approvals.value ?? 0;
      document.title = `${waitingCount > 0 ? `(${waitingCount}) ` : ""}${name === "" ? "" : `${name} · `}svc`;
      return html`<a class="skip" href="#content" @click=${skip}>${t.shell.skip}</a>
        <header class="bar">
          <button
            class="plain menu"
            aria-label=${t.shell.menu}
            aria-expanded=${isMenuOpen}
            @click=${() => {
              isMenuOpen = !isMenuOpen;
              app.redraw();
            }}
          >
            ${icon(Menu)}
          </button>
          <a class="brand" href=${hrefOf(home("overview"))}>svc</a>
          <span class="where">${name}</span>
          <span class="fill"></span>
          ${
            state.kind === "reconnecting"
              ? html`<span class="connection warning" role="status" title=${t.shell.reconnectingText}
                  ><span class="spinner"></span>${t.shell.reconnecting}</span
                >`
              : nothing
          }
          ${
            waitingCount > 0 && app.place.view !== "approvals"
              ? html`<button
                  class="accent"
                  aria-label=${t.shell.waitingApprovals(waitingCount)}
                  @click=${() => app.go("approvals")}
                >
                  ${icon(BadgeCheck)}<span class="in-words">${t.shell.waitingApprovals(waitingCount)}</span
                  ><span class="in-short">${waitingCount}</span>
                </button>`
              : nothing
          }
          <button
            class="plain"
            aria-label=${t.shell.settings}
            title=${t.shell.settings}
            @click=${() => openSettings(app)}
          >
            ${icon(SlidersHorizontal)}
          </button>
        </header>
        <div class="frame">
          ${navigation()}
          ${isMenuOpen ? html`<div class="shade" @click=${() => ((isMenuOpen = false), app.redraw())}></div>` : nothing}
          <main id="content" tabindex="-1" data-view=${app.place.view}>${content()}</main>
        </div>`;
    },
  };
}

/** A command as one short line. */
function cut(text: string): string {
  const [line = ""] = text.split("\n", 1);
  return line.length > 80 || line !== text ? `${line.slice(0, 80)} …` : line;
}

function skip(event: MouseEvent): void {
  event.preventDefault();
  document.getElementById("content")?.focus();
}
