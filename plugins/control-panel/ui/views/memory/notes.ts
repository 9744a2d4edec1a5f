/** The notes of an agent: list, read, edit, new ones. */
import { isGatewayError } from "@svc/sdk/errors";
import { memory } from "@svc/sdk/memory";
import { html, nothing, type TemplateResult } from "lit";
import { keyed } from "lit/directives/keyed.js";
import { Plus } from "lucide";
import type { ViewContext } from "../../core/app.ts";
import { t } from "../../core/text.ts";
import { askFor } from "../../parts/dialog.ts";
import { createDocument, type Document, hasDraft, NO_FILE } from "../../parts/document.ts";
import { icon } from "../../parts/icon.ts";
import { rows } from "../../parts/rows.ts";
import { badge, empty, show } from "../../parts/show.ts";
import { ago, bytes } from "../../parts/time.ts";

export interface Notes {
  render(): TemplateResult;
  reload(): Promise<void>;
  open(path: string): void;
  agentChanged(): void;
}

const ROW_PX = 52;

/** Notes outside the workspace have absolute paths. */
const isWritable = (path: string) => !path.startsWith("/");

export function createNotes(context: ViewContext, chosen: () => string | undefined): Notes {
  const mayChange = context.may("operator.admin");
  const agent = () => {
    const agentId = chosen();
    return agentId === undefined ? {} : { agentId };
  };
  const list = context.resource(() => context.call(memory.files, agent()), { everyMs: 30_000 });
  const documents = new Map<string, { readonly document: Document; isOutside: boolean }>();
  let selected: string | undefined;

  const keyOf = (path: string) => `memory/${chosen() ?? ""}/${path}`;

  function documentOf(path: string) {
    const key = keyOf(path);
    const known = documents.get(key);
    if (known) return known;
    const of = agent();
    const state = { isOutside: false };
    const document = createDocument(context, {
      key,
      label: path,
      async load() {
        try {
          const { content, hash, outside } = await context.call(memory.read, { ...of, path });
          state.isOutside = outside;
          return { text: content, hash };
        } catch (error) {
          if (isGatewayError(error) && error.code === "NOT_FOUND") return { text: "", hash: NO_FILE }; // a new note
          throw error;
        }
      },
      ...(mayChange &&
        isWritable(path) && {
          save: (content: string, baseHash: string) => context.call(memory.write, { ...of, path, content, baseHash }),
        }),
      saved: () => void list.reload(),
    });
    const made = Object.assign(state, { document });
    documents.set(key, made);
    return made;
  }

  function open(path: string): void {
    selected = path;
    context.redraw();
    requestAnimationFrame(() => document.querySelector(".note")?.scrollIntoView({ block: "nearest" }));
  }

  const create = async () => {
    let path = "";
    const values = await askFor({
      title: t.memory.newNoteTitle,
      fields: [{ name: "path", label: t.memory.path, value: "memory/", hint: t.memory.pathHint, isRequired: true }],
      action: t.memory.newNote,
      async work({ path: wanted = "" }) {
        path = wanted.trim();
        if (path !== "MEMORY.md" && !/^memory\/.+\.md$/i.test(path)) throw new Error(t.memory.badPath);
      },
    });
    if (values) open(path);
  };

  const row = ({ path, size, updatedAtMs }: { path: string; size: number; updatedAtMs: number }) =>
    html`<button
      class=${path === selected ? "note-row accent" : "note-row plain"}
      aria-pressed=${path === selected}
      @click=${() => open(path)}
    >
      <span class="mono ellipsis">${path}</span>
      ${
        hasDraft(keyOf(path))
          ? badge(t.document.unsaved, "warning")
          : html`<small>${bytes(size)} · ${ago(updatedAtMs)}</small>`
      }
    </button>`;

  const shown = () => {
    if (selected === undefined) return html`<p class="quiet">${t.memory.choose}</p>`;
    const { document, isOutside } = documentOf(selected);
    return html`<h3 class="mono break">${selected}</h3>
      ${isOutside ? html`<div class="notice warning"><div>${t.memory.isOutside}</div></div>` : nothing}
      ${isWritable(selected) ? nothing : html`<p class="quiet">${t.memory.readOnly}</p>`}
      ${keyed(keyOf(selected), document.render())}`;
  };

  return {
    open,
    reload: () => list.reload(),
    agentChanged() {
      selected = undefined;
      void list.reload();
    },
    render: () =>
      html`<section class="card">
        <header>
          <h2>${t.memory.notes}</h2>
          <span class="fill"></span>
          ${mayChange ? html`<button @click=${create}>${icon(Plus)}${t.memory.newNote}</button>` : nothing}
        </header>
        ${show(list, ({ files }) =>
          files.length === 0 && selected === undefined
            ? empty(t.memory.notesNone, t.memory.notesNoneText)
            : html`<div class="split">
                <svc-rows
                  class="note-list"
                  .list=${rows({ items: files, key: ({ path }) => path, row, height: ROW_PX, label: t.memory.notes })}
                ></svc-rows>
                <div class="column note">${shown()}</div>
              </div>`,
        )}
      </section>`,
  };
}
