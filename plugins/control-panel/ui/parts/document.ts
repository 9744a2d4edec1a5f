/**
 * An editor for one file of the gateway. What people typed survives leaving the view; a file that somebody else changed
 * meanwhile is never overwritten without a question.
 */
import { isGatewayError } from "@svc/sdk/errors";
import { html, nothing, type TemplateResult } from "lit";
import { live } from "lit/directives/live.js";
import type { ViewContext } from "../core/app.ts";
import { t } from "../core/text.ts";
import { openDialog } from "./dialog.ts";
import { badge, failed, waiting } from "./show.ts";
import { toast } from "./toast.ts";
import "./document.css";

export interface Content {
  readonly text: string;
  /** Of the content, as the gateway computed it. */
  readonly hash: string;
}

export interface DocumentSource {
  /** Identity of the file among all files of the panel. */
  readonly key: string;
  /** Accessible name of the text. */
  readonly label: string;
  readonly load: () => Promise<Content>;
  /** Absent: the file can only be read. @throws GatewayError `CONFLICT` if the file has another hash than `baseHash` */
  readonly save?: (text: string, baseHash: string) => Promise<{ readonly hash: string }>;
  /** Called after a save. */
  readonly saved?: () => void;
}

export interface Document {
  render(): TemplateResult;
  /** Loads the file again, unless people changed its text. */
  refresh(): Promise<void>;
}

/** Hash of a file that does not exist: of the empty text. */
export const NO_FILE = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
const REFRESH_MS = 20_000;

/** Texts that are not saved, by key, with the hash of the content that people started from. */
const drafts = new Map<string, Content>();
addEventListener("beforeunload", (event) => {
  if (drafts.size > 0) event.preventDefault(); // the browser asks
});

export function hasDraft(key: string): boolean {
  return drafts.has(key);
}

export function createDocument(context: ViewContext, source: DocumentSource): Document {
  const { key, label, load, save } = source;
  let stored: Content | undefined;
  /** Stored by somebody else while people were typing. */
  let other: Content | undefined;
  let error: unknown;
  let isBusy = false;
  let saves = 0;

  const textNow = () => drafts.get(key)?.text ?? stored?.text ?? "";

  async function refresh(): Promise<void> {
    const before = saves;
    try {
      const content = await load();
      if (before !== saves) return; // read before the save
      error = undefined;
      const draft = drafts.get(key);
      other = draft && draft.hash !== content.hash && draft.text !== content.text ? content : undefined;
      stored = content;
      if (draft?.text === content.text) drafts.delete(key);
    } catch (failure) {
      error = failure;
    }
    context.redraw();
  }

  async function store(baseHash: string): Promise<void> {
    if (!save || isBusy) return;
    const text = textNow();
    isBusy = true;
    error = undefined;
    context.redraw();
    try {
      const { hash } = await save(text, baseHash);
      stored = { text, hash };
      saves++;
      other = undefined;
      const draft = drafts.get(key);
      if (draft?.text === text) drafts.delete(key);
      else if (draft) drafts.set(key, { ...draft, hash }); // typed during the save
      toast(t.document.saved, "good");
      source.saved?.();
    } catch (failure) {
      if (isGatewayError(failure) && failure.code === "CONFLICT") await refresh();
      else error = failure;
    }
    isBusy = false;
    context.redraw();
  }

  function typed(event: Event): void {
    const text = (event.target as HTMLTextAreaElement).value;
    if (text === stored?.text) drafts.delete(key);
    else drafts.set(key, { text, hash: drafts.get(key)?.hash ?? stored?.hash ?? NO_FILE });
    context.redraw();
  }

  function drop(): void {
    drafts.delete(key);
    other = undefined;
    context.redraw();
  }

  function keyed(event: KeyboardEvent): void {
    if (event.key !== "s" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    if (drafts.has(key) && !other) void store(drafts.get(key)?.hash ?? NO_FILE);
  }

  const conflict = (theirs: Content) =>
    html`<div class="notice warning" role="alert">
      <div>${t.document.conflict}</div>
      <span class="actions">
        <button
          @click=${() =>
            openDialog({
              title: t.document.theirs,
              isWide: true,
              body: ({ close }) =>
                html`<div class="content"><pre class="document-text">${theirs.text}</pre></div>
                  <footer><button @click=${() => close()}>${t.common.close}</button></footer>`,
            })}
        >
          ${t.document.showTheirs}
        </button>
        <button @click=${drop}>${t.document.takeTheirs}</button>
        <button class="danger" ?disabled=${isBusy} @click=${() => store(theirs.hash)}>${t.document.keepMine}</button>
      </span>
    </div>`;

  void refresh();
  context.onFresh(() => void refresh());
  context.every(REFRESH_MS, () => !isBusy && void refresh());

  return {
    refresh,
    render() {
      if (!stored) return error === undefined ? waiting() : failed(error, () => void refresh());
      const isChanged = drafts.has(key);
      return html`<div class="document">
        ${error === undefined ? nothing : failed(error)} ${other ? conflict(other) : nothing}
        <textarea
          class="mono"
          aria-label=${label}
          spellcheck="false"
          ?readonly=${save === undefined}
          .value=${live(textNow())}
          @input=${typed}
          @keydown=${keyed}
        ></textarea>
        ${
          save === undefined
            ? nothing
            : html`<div class="actions">
                <button
                  class="primary"
                  ?disabled=${!isChanged || isBusy || other !== undefined}
                  @click=${() => store(drafts.get(key)?.hash ?? NO_FILE)}
                >
                  ${t.common.save}
                </button>
                <button ?disabled=${!isChanged || isBusy} @click=${drop}>${t.document.discard}</button>
                ${isChanged ? badge(t.document.unsaved, "warning") : nothing}
              </div>`
        }
      </div>`;
    },
  };
}
