/** Completes the commands of the chat, by keyboard and by pointer. */
import type { CommandEntry } from "@svc/sdk/commands";
import { html, nothing, type TemplateResult } from "lit";
import { t } from "../../core/text.ts";

/** Choice: commands that the list shows. */
const MAX_SHOWN = 50;

export interface Completion {
  readonly listId: string;
  /** The text may be a command. */
  readonly isCommand: boolean;
  readonly isOpen: boolean;
  /** Id of the marked entry. */
  readonly activeId: string | undefined;
  typed(text: string): void;
  /** @param write sets the text. @returns whether the key is handled */
  pressed(event: KeyboardEvent, write: (text: string) => void): boolean;
  close(): void;
  draw(write: (text: string) => void): TemplateResult | typeof nothing;
}

/** @param options.changed called when it must be drawn again */
export function createCompletion({
  load,
  changed,
}: {
  readonly load: () => Promise<readonly CommandEntry[]>;
  readonly changed: () => void;
}): Completion {
  const listId = "chat-commands";
  let all: readonly CommandEntry[] | undefined;
  let loading: Promise<void> | undefined;
  let text = "";
  let marked = 0;
  let isClosed = false;

  const isCommand = () => /^\/[^\s/]*$/.test(text);
  const found = (): readonly CommandEntry[] => {
    if (!isCommand() || isClosed || !all) return [];
    const word = text.toLowerCase();
    const begins = (one: CommandEntry) => one.textAliases.some((alias) => alias.startsWith(word));
    return all.filter(begins).slice(0, MAX_SHOWN);
  };
  const idOf = (one: CommandEntry) => `${listId}-${one.name}`;
  const take = (one: CommandEntry, write: (text: string) => void) => {
    write(`/${one.name}${one.acceptsArgs ? " " : ""}`);
    isClosed = true;
    changed();
  };

  return {
    listId,
    get isCommand() {
      return isCommand();
    },
    get isOpen() {
      return found().length > 0;
    },
    get activeId() {
      const one = found()[marked];
      return one && idOf(one);
    },
    typed(next) {
      const was = isCommand();
      text = next;
      marked = 0;
      isClosed = false;
      if (!was && !isCommand()) return;
      if (isCommand())
        loading ??= load().then(
          (list) => {
            all = list;
            changed();
          },
          () => (loading = undefined), // without the list people write commands by hand
        );
      changed();
    },
    pressed(event, write) {
      const list = found();
      const one = list[marked];
      if (!one) return false;
      const { key } = event;
      const isWhole = one.textAliases.includes(text.toLowerCase());
      if (key === "ArrowDown" || key === "ArrowUp") {
        marked = (marked + (key === "ArrowDown" ? 1 : -1) + list.length) % list.length;
        changed();
        document.getElementById(idOf(list[marked] ?? one))?.scrollIntoView({ block: "nearest" });
      } else if (key === "Tab" || (key === "Enter" && !event.shiftKey && !isWhole)) take(one, write);
      else if (key === "Escape") {
        isClosed = true;
        changed();
      } else return false;
      event.preventDefault();
      return true;
    },
    close() {
      if (found().length === 0) return;
      isClosed = true;
      changed();
    },
    draw(write) {
      const list = found();
      if (list.length === 0) return nothing;
      return html`<ul id=${listId} class="completion" role="listbox" aria-label=${t.chat.commands}>
        ${list.map(
          (one, index) =>
            html`<li
              id=${idOf(one)}
              role="option"
              aria-selected=${index === marked}
              @pointerdown=${(event: Event) => {
                event.preventDefault(); // the field keeps the focus
                take(one, write);
              }}
            >
              <code>/${one.name}</code>
              ${one.usage === undefined ? nothing : html`<code class="quiet">${one.usage}</code>`}
              <span class="quiet">${one.description}</span>
            </li>`,
        )}
      </ul>`;
    },
  };
}
