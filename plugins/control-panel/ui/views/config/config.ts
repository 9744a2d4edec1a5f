/** The configuration: a form made of the schema, and the file as text. Changes are collected, reviewed and written at once. */
import { config } from "@svc/sdk/config";
import { html, nothing, type TemplateResult } from "lit";
import type { OpenView, ViewContext } from "../../core/app.ts";
import { t } from "../../core/text.ts";
import { confirm } from "../../parts/dialog.ts";
import { searchField } from "../../parts/search.ts";
import { badge, empty, show } from "../../parts/show.ts";
import { tabs } from "../../parts/tabs.ts";
import { toast } from "../../parts/toast.ts";
import { duration } from "../../parts/time.ts";
import { changesOf, linesOf, type Path, pathText, patchOf } from "./data.ts";
import { drawChildren, drawField } from "./fields.ts";
import { drawConflicts, drawFile } from "./file.ts";
import { createForm, isChanged } from "./form.ts";
import { drawRaw } from "./raw.ts";
import { changeTable, issueList, lineTable, review, type Written } from "./review.ts";
import { childrenOf, type Field, fieldAt, type Hints, reachable, rootField, type Schema, search } from "./schema.ts";
import { discard, hasChanges, type Snapshot, stateOf, take, wrote } from "./state.ts";
import "./config.css";

const FOUND = 40;
/** Sections that programs write for themselves; for experts. */
const NOTES: ReadonlySet<unknown> = new Set(["$schema", "meta", "wizard"]);
/** The file has no events: people and programs change it by hand. */
const EVERY_MS = 15_000;

export default ((context) => {
  const state = stateOf(context.connection.url);
  const mayWrite = context.may("operator.admin");
  const view = { search: "", onlySet: false, advanced: false };
  let schema: { readonly root: Field; readonly hints: Hints } | undefined;

  const file = context.resource(
    async () => {
      const snapshot = await context.call(config.get, {});
      await loadSchema(snapshot.hash);
      take(state, snapshot);
      return snapshot;
    },
    { everyMs: EVERY_MS },
  );

  /** Only admins may read it. Plugins come and go, so it is loaded with each new file. */
  let schemaFor: string | undefined;
  async function loadSchema(hash: string): Promise<void> {
    if (!mayWrite) return;
    const known = `${context.connection.client?.hello.server.connId ?? ""} ${hash}`;
    if (schema && schemaFor === known) return;
    const loaded = await context.call(config.schema, {});
    schema = { root: rootField(loaded.schema as Schema), hints: loaded.uiHints };
    schemaFor = known;
  }

  const mayForm = () => mayWrite && state.base?.valid !== false;
  const isRawMode = () => !mayForm() || context.place.params.get("mode") === "raw";
  const textOfFile = () => state.base?.raw ?? "{\n}\n";
  const changes = () => (state.base?.valid ? changesOf(state.base.parsed, state.draft) : []);

  /** If the file is another one by the time of the write, the gateway refuses it: the changes go on top of that file, and people look again. */
  async function reviewed(
    content: TemplateResult,
    needsRestart: boolean,
    write: (baseHash: string) => Promise<Written>,
  ): Promise<void> {
    const baseHash = state.base?.hash ?? "";
    const answer = await review({
      content,
      needsRestart,
      write: () => write(baseHash),
      async refused(issues) {
        state.issues = issues;
        await file.reload();
        if (state.base?.hash === baseHash) return false;
        toast(t.config.fileChanged, "warning");
        return true;
      },
    });
    if (!answer) return context.redraw();
    wrote(state, answer);
    const { scheduled, delayMs, reason } = answer.restart;
    const isPlain = reason === config.patch.name || reason === config.apply.name;
    state.byHand = scheduled || isPlain ? undefined : reason;
    toast(scheduled ? t.config.writtenRestarts(duration(delayMs)) : t.config.written, "good");
    await file.reload();
  }

  async function reviewForm(): Promise<void> {
    if (!schema) return;
    const { root, hints } = schema;
    const all = changes();
    const needsRestart = all.some(({ path }) => fieldAt(root, path, hints).reload === "restart");
    await reviewed(changeTable(all, root, hints), needsRestart, (baseHash) =>
      context.call(config.patch, { raw: JSON.stringify(patchOf(all)), replaceLists: true, baseHash }),
    );
  }

  async function reviewRaw(): Promise<void> {
    const { raw } = state;
    if (raw === undefined) return;
    await reviewed(lineTable(linesOf(textOfFile(), raw)), false, (baseHash) =>
      context.call(config.apply, { raw, baseHash }),
    );
  }

  async function askDiscard(): Promise<void> {
    const isSure = await confirm({
      title: t.config.discardTitle,
      text: t.config.discardText,
      action: t.config.discard,
      isDangerous: true,
    });
    if (!isSure) return;
    discard(state);
    context.redraw();
  }

  /** Opens the section and the groups of a key, and moves the focus there. */
  function jump(path: Path): void {
    view.search = "";
    view.onlySet = false;
    view.advanced ||= schema !== undefined && fieldAt(schema.root, path, schema.hints).advanced;
    for (let length = 1; length <= path.length; length++) state.open.add(pathText(path.slice(0, length)));
    context.go("config", { section: String(path[0]) });
    focusSoon(pathText(path), 20);
  }

  /** The place is drawn in one of the next frames. */
  function focusSoon(name: string, frames: number): void {
    requestAnimationFrame(() => {
      const place = document.querySelector<HTMLElement>(`[data-path=${CSS.escape(name)}]`);
      if (!place) return void (frames > 0 && focusSoon(name, frames - 1));
      place.scrollIntoView({ block: "center" });
      place
        .querySelector<HTMLElement>("summary, .cfg-edit input, .cfg-edit select, .cfg-edit textarea, .cfg-edit button")
        ?.focus();
    });
  }

  function drawForm(): TemplateResult {
    if (!schema) return html``;
    const { root, hints } = schema;
    const wanted = context.place.params.get("section") ?? "gateway";
    const sections = childrenOf(root, hints, state.draft, state.base?.config).filter(
      ({ path: [id] }) => view.advanced || id === wanted || !NOTES.has(id),
    );
    const section = sections.find(({ path }) => path[0] === wanted) ?? sections[0];
    if (!section) return html``;
    const { onlySet, advanced } = view;
    const form = createForm({ state, hints, mayWrite, onlySet, advanced, changed: context.redraw });
    const found = search(hints, view.search, FOUND);
    const open = (id: string) => {
      view.search = "";
      context.go("config", { section: id });
    };
    return html`<div class="cfg-split">
      <div class="cfg-sections">
        <select
          class="cfg-pick"
          aria-label=${t.config.section}
          @change=${(event: Event) => open((event.target as HTMLSelectElement).value)}
        >
          ${sections.map(({ path, label }) => html`<option value=${path[0] ?? ""} ?selected=${path[0] === section.path[0]}>${label}</option>`)}
        </select>
        <ul role="list" aria-label=${t.config.section}>
          ${sections.map((one) => {
            const id = String(one.path[0]);
            const wrong = state.issues.some(({ path }) => path === id || path.startsWith(`${id}.`));
            return html`<li>
              <button
                class="plain"
                aria-current=${one === section && view.search === "" ? "true" : nothing}
                @click=${() => open(id)}
              >
                <span class="ellipsis">${one.label}</span>
                ${wrong ? badge("!", "bad") : isChanged(form, one) ? badge("•", "accent") : nothing}
              </button>
            </li>`;
          })}
        </ul>
      </div>
      <div class="cfg-pane">
        ${
          view.search.trim() === ""
            ? html`<header class="line">
                  <h2>${section.label}</h2>
                  <code class="quiet">${section.path[0]}</code>
                </header>
                ${section.help === "" ? nothing : html`<p class="quiet">${section.help}</p>`}
                ${section.kind === "group" ? drawChildren(form, section) : drawField(form, section)}`
            : found.length === 0
              ? empty(t.config.noMatch)
              : html`<ul class="cfg-found" aria-label=${t.config.results}>
                  ${found.map(
                    ({ pattern, label, help, group }) =>
                      html`<li>
                        <button class="plain" @click=${() => jump(reachable(pattern))}>
                          <span><strong>${label}</strong> <span class="quiet">${group}</span></span>
                          <code class="quiet break">${pattern}</code>
                          ${help === "" ? nothing : html`<small>${help}</small>`}
                        </button>
                      </li>`,
                  )}
                </ul>`
        }
      </div>
    </div>`;
  }

  function drawBar(): TemplateResult | typeof nothing {
    const all = changes();
    const isText = state.raw !== undefined;
    const wrong = [...state.typed].find(([, { isWrong }]) => isWrong)?.[0];
    if (!isText && all.length === 0 && wrong === undefined) return nothing;
    const isBlocked = !isText && (wrong !== undefined || state.conflicts.length > 0 || all.length === 0);
    return html`<div class="cfg-bar" role="region" aria-label=${t.config.unsaved}>
      <strong role="status">${isText ? t.config.textChanged : t.config.changeCount(all.length)}</strong>
      ${wrong === undefined ? nothing : html`<span class="quiet break">${t.config.unreadable(wrong)}</span>`}
      <span class="fill"></span>
      <button @click=${askDiscard}>${t.config.discard}</button>
      <button class="primary" ?disabled=${isBlocked} @click=${() => void (isText ? reviewRaw() : reviewForm())}>
        ${t.config.review}
      </button>
    </div>`;
  }

  const content = (snapshot: Snapshot) =>
    html`${drawFile(state, snapshot, mayWrite, context.redraw)}
    ${schema ? drawConflicts(state, schema.root, schema.hints, context.redraw) : nothing}
    ${isRawMode() ? drawText(snapshot) : drawKeys()} ${mayWrite ? drawBar() : nothing}`;

  /** Both modes change the same file: one at a time. */
  const drawOther = (text: string) => html`<div class="notice warning"><div>${text}</div></div>`;

  function drawKeys(): TemplateResult {
    if (state.raw !== undefined) return drawOther(t.config.textFirst);
    return html`${state.issues.length > 0 ? drawIssues() : nothing} ${drawForm()}`;
  }

  function drawText({ valid }: Snapshot): TemplateResult | typeof nothing {
    if (!valid) return nothing;
    if (hasChanges(state)) return drawOther(t.config.formFirst);
    return drawRaw({
      text: state.raw ?? textOfFile(),
      issues: state.issues,
      mayWrite,
      input(text) {
        state.raw = text === textOfFile() ? undefined : text;
        state.issues = [];
        context.redraw();
      },
    });
  }

  return {
    render: () =>
      html`<div class="view cfg">
        <header class="toolbar">
          <h1>${t.config.title}</h1>
          ${
            isRawMode()
              ? nothing
              : html`${searchField(
                  view.search,
                  (text) => {
                    view.search = text;
                    context.redraw();
                  },
                  t.config.searchHint,
                )}
                ${toggle(context, t.config.onlySet, view, "onlySet")}
                ${toggle(context, t.config.advanced, view, "advanced")}`
          }
        </header>
        ${tabs({
          label: t.config.mode,
          tabs: [...(mayForm() ? [["form", t.config.form] as const] : []), ["raw", t.config.text] as const],
          selected: isRawMode() ? "raw" : "form",
          select: (mode) =>
            context.go("config", {
              section: context.place.params.get("section") ?? undefined,
              mode: mode === "raw" ? mode : undefined,
            }),
          content: () => show(file, content),
        })}
      </div>`,
  };

  function drawIssues(): TemplateResult {
    return html`<div class="notice bad" role="alert">
      <div>
        <p>${t.config.refused}</p>
        ${issueList(
          state.issues,
          (path) => html`<button class="plain" @click=${() => jump(keysOf(path))}><code>${path}</code></button>`,
        )}
      </div>
    </div>`;
  }
}) satisfies OpenView;

function toggle(
  context: ViewContext,
  label: string,
  view: { onlySet: boolean; advanced: boolean },
  key: "onlySet" | "advanced",
): TemplateResult {
  return html`<label class="check">
    <input
      type="checkbox"
      .checked=${view[key]}
      @change=${(event: Event) => {
        view[key] = (event.target as HTMLInputElement).checked;
        context.redraw();
      }}
    />${label}
  </label>`;
}

/** `a.b[0].c` as keys and indexes. */
function keysOf(path: string): Path {
  return [...path.matchAll(/\[(\d+)\]|[^.[\]]+/g)].map(([text, index]) => (index === undefined ? text : Number(index)));
}
