/**
 * Where people write. It draws only itself, so that typing costs the same in a conversation of any length, and its text field is not
 * drawn from a state, so that nothing ever takes the caret away.
 */
import type { CommandEntry } from "@svc/sdk/commands";
import { html, nothing, render, type TemplateResult } from "lit";
import { ref } from "lit/directives/ref.js";
import { ArrowUp, Mic, MicOff, Paperclip, Square, X } from "lucide";
import { t } from "../../core/text.ts";
import { icon } from "../../parts/icon.ts";
import { toast } from "../../parts/toast.ts";
import { createCompletion } from "./completion.ts";
import { keepDraft, readDraft } from "./drafts.ts";
import { ACCEPT, type Picture, readPictures } from "./pictures.ts";
import { createVoice } from "./voice.ts";

/** A message that is edited. */
export interface Edited {
  readonly id: string;
  readonly text: string;
  readonly hasPictures: boolean;
}

export interface Composer {
  readonly element: HTMLElement;
  /** Draws it again after a change outside of it. */
  redraw(): void;
  focus(): void;
  /** Puts an earlier message into the field. */
  edit(message: Edited): void;
  /** Shows the draft of a conversation. Call it first: there is nothing to see before. */
  open(key: string): void;
  attach(files: readonly File[]): void;
}

export interface ComposerOptions {
  readonly signal: AbortSignal;
  agentName(): string;
  /** A reply is in progress. */
  isBusy(): boolean;
  readonly maySend: boolean;
  commands(): Promise<readonly CommandEntry[]>;
  /** @param pictures of the message; `undefined`: those of the edited message */
  send(text: string, pictures: readonly Picture[] | undefined, replaces: string | undefined): void;
  stop(): void;
  /** Up in an empty field. */
  editLast(): void;
}

/** Whether the browser makes the field as high as its text. */
const SIZES_ITSELF = CSS.supports("field-sizing", "content");

function fit(field: HTMLTextAreaElement): void {
  field.style.height = "auto";
  field.style.height = `${field.scrollHeight}px`;
}

export function createComposer(options: ComposerOptions): Composer {
  const { signal, send, stop } = options;
  const element = document.createElement("div");
  element.className = "composer";
  let field: HTMLTextAreaElement | undefined;
  let key = "";
  let pictures: readonly Picture[] = [];
  let edited: Edited | undefined;
  let isEmpty = true;

  const redraw = () => render(draw(), element);
  const completion = createCompletion({ load: options.commands, changed: redraw });
  const voice = createVoice({
    heard: (text) => write(`${field?.value ?? ""}${text}`),
    changed: redraw,
    failed: (reason) => toast(t.chat.speakFailed(reason), "bad"),
  });
  signal.addEventListener("abort", () => voice.stop(), { once: true });

  /** Sets the text, as if people had written it. */
  function write(text: string): void {
    if (!field) return;
    field.value = text;
    field.setSelectionRange(text.length, text.length);
    written();
  }

  /** The text changed. Most keys end here without drawing anything. */
  function written(): void {
    const text = field?.value ?? "";
    if (edited === undefined) keepDraft(key, text);
    if (field && !SIZES_ITSELF) fit(field);
    completion.typed(text);
    const was = isEmpty;
    isEmpty = text.trim() === "";
    if (was !== isEmpty) redraw();
  }

  async function attach(files: readonly File[]): Promise<void> {
    if (files.length === 0 || !options.maySend) return;
    const { pictures: read, refused } = await readPictures(files, pictures);
    pictures = [...pictures, ...read];
    for (const reason of refused) toast(reason, "warning");
    redraw();
    field?.focus();
  }

  function submit(): void {
    const text = field?.value ?? "";
    const keepsPictures = edited?.hasPictures === true && pictures.length === 0;
    if (text.trim() === "" && pictures.length === 0 && !keepsPictures) return;
    if (edited && options.isBusy()) return toast(t.chat.editBusy, "warning");
    voice.stop();
    send(text.trim(), keepsPictures ? undefined : pictures, edited?.id);
    leaveEdit("");
  }

  /** @param text that stays in the field */
  function leaveEdit(text: string): void {
    edited = undefined;
    pictures = [];
    write(text);
    redraw();
  }

  function pressed(event: KeyboardEvent): void {
    if (event.isComposing) return; // a key of an input method
    if (completion.pressed(event, write)) return;
    const isPlain = !event.shiftKey && !event.ctrlKey && !event.metaKey && !event.altKey;
    if (event.key === "Enter" && isPlain) {
      event.preventDefault();
      submit();
    } else if (event.key === "Escape" && isPlain) {
      if (edited) leaveEdit(readDraft(key));
      else if (options.isBusy()) stop();
      else return;
      event.preventDefault();
    } else if (event.key === "ArrowUp" && isPlain && field?.value === "" && !edited) {
      event.preventDefault();
      options.editLast();
    }
  }

  function pasted(event: ClipboardEvent): void {
    const files = [...(event.clipboardData?.files ?? [])];
    if (files.length === 0) return;
    event.preventDefault();
    void attach(files);
  }

  function draw(): TemplateResult {
    if (!options.maySend) return html`<p class="notice">${t.chat.readOnly}</p>`;
    const isReady = !isEmpty || pictures.length > 0 || edited?.hasPictures === true;
    const isList = completion.isCommand;
    return html`${
        edited
          ? html`<p class="editing">
              <span>${t.chat.editing} ${edited.hasPictures && pictures.length === 0 ? t.chat.keepsPictures : ""}</span>
              <button class="plain" @click=${() => leaveEdit(readDraft(key))}>${t.common.cancel}</button>
            </p>`
          : nothing
      }
      ${
        pictures.length === 0
          ? nothing
          : html`<ul class="pictures">
              ${pictures.map(
                (picture) =>
                  html`<li>
                    <img src=${picture.url} alt=${picture.name} />
                    <button
                      aria-label=${t.chat.removePicture(picture.name)}
                      title=${t.chat.removePicture(picture.name)}
                      @click=${() => {
                        pictures = pictures.filter((one) => one !== picture);
                        redraw();
                        field?.focus();
                      }}
                    >
                      ${icon(X)}
                    </button>
                  </li>`,
              )}
            </ul>`
      }
      ${completion.draw(write)}
      <div class="field-box">
        <textarea
          ${ref((node) => (field = node as HTMLTextAreaElement | undefined))}
          rows="1"
          aria-label=${t.chat.message}
          placeholder=${t.chat.placeholder(options.agentName())}
          role=${isList ? "combobox" : nothing}
          aria-expanded=${isList ? String(completion.isOpen) : nothing}
          aria-controls=${isList ? completion.listId : nothing}
          aria-autocomplete=${isList ? "list" : nothing}
          aria-activedescendant=${completion.activeId ?? nothing}
          @input=${written}
          @keydown=${pressed}
          @paste=${pasted}
          @blur=${() => completion.close()}
        ></textarea>
        <div class="tools-line">
          <label class="button plain" title=${t.chat.attach}>
            <input
              type="file"
              class="unseen"
              multiple
              accept=${ACCEPT}
              aria-label=${t.chat.attach}
              @change=${(event: Event) => {
                const input = event.target as HTMLInputElement;
                void attach([...(input.files ?? [])]);
                input.value = "";
              }}
            />${icon(Paperclip)}
          </label>
          ${
            voice.isOffered
              ? html`<button
                  class="plain"
                  aria-pressed=${voice.isOn}
                  aria-label=${voice.isOn ? t.chat.stopSpeaking : t.chat.speak}
                  title=${voice.isOn ? t.chat.stopSpeaking : t.chat.speak}
                  @click=${() => (voice.isOn ? voice.stop() : voice.start())}
                >
                  ${icon(voice.isOn ? MicOff : Mic)}
                </button>`
              : nothing
          }
          <span class="fill"></span>
          ${
            options.isBusy()
              ? html`<button class="round" aria-label=${t.chat.stop} title="${t.chat.stop} (Esc)" @click=${stop}>
                  ${icon(Square)}
                </button>`
              : nothing
          }
          <button
            class="primary round"
            aria-label=${t.chat.send}
            title=${t.chat.send}
            ?disabled=${!isReady}
            @click=${() => {
              submit();
              field?.focus();
            }}
          >
            ${icon(ArrowUp)}
          </button>
        </div>
      </div>`;
  }

  return {
    element,
    redraw,
    focus: () => field?.focus(),
    attach: (files) => void attach(files),
    open(next) {
      key = next;
      edited = undefined;
      pictures = [];
      redraw();
      write(readDraft(key));
    },
    edit(message) {
      edited = message;
      pictures = [];
      write(message.text);
      redraw();
      field?.focus();
    },
  };
}
