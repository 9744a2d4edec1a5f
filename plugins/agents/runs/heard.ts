/** Whose words a run was shown, and those of them with the least authority. */
import { floorOf, type Origin } from "@svc/sdk";
import { unwrapped } from "@svc/sdk/external-content";
import { type Message, textOf } from "@svc/sdk/models";
import type { ToolScene } from "@svc/sdk/tools";

/** Choice: characters that people are shown of one text, and of all: a later text cannot hide the one that led to a call. */
const TEXT_CHARS = 600;
const EXCERPT_CHARS = 1_500;

interface OutsideText {
  /** How many scopes its author has. */
  readonly scopes: number;
  readonly text: string;
}

export class Heard {
  #floor: Origin | undefined;
  /** The newest first. */
  readonly #texts: OutsideText[] = [];
  /** The newest answer of the model after such words: of an event of an earlier turn nothing else is left. */
  #answer = "";
  /** What no model wrote: a text in it is not made up. */
  readonly #written: Message[] = [];

  /** @param text what of it people are shown; empty: it is not known any more */
  add(origin: Origin | undefined, text = ""): void {
    const author = floorOf([origin]);
    if (author === undefined) return;
    this.#floor = floorOf([this.#floor, author]);
    if (text !== "") this.#texts.unshift({ scopes: author.scopes.length, text: text.slice(0, TEXT_CHARS) });
  }

  addMessages(messages: readonly Message[]): void {
    for (const message of messages) {
      const { role, origin } = message;
      const text = unwrapped(textOf(message));
      this.add(origin, role === "assistant" ? "" : text);
      if (role === "assistant" && origin && text !== "") this.#answer = text;
      const isWritten = role === "user" ? origin?.kind !== "agent" : role === "toolResult" && origin?.kind === "web";
      if (isWritten) this.#written.push(message);
    }
  }

  /** Answers of the model say whose words it was shown when it gave them. */
  mark(messages: readonly Message[]): readonly Message[] {
    const floor = this.#floor;
    if (floor === undefined) return messages;
    return messages.map((message) => (message.role === "assistant" ? { ...message, origin: floor } : message));
  }

  /** With the least authority; `undefined`: all words were the owner's. */
  get floor(): Origin | undefined {
    return this.#floor;
  }

  get outside(): ToolScene["outside"] {
    const saw = (text: string) => text !== "" && this.#written.some((message) => textOf(message).includes(text));
    return this.#floor && { origin: this.#floor, text: this.#excerpt(), saw };
  }

  /** As many as there is room for: those whose author may do least first, and of these the newest. */
  #excerpt(): string {
    const texts = this.#texts.toSorted((left, right) => left.scopes - right.scopes).map(({ text }) => text);
    const shown = texts.length === 0 ? [this.#answer] : [...new Set(texts)];
    return shown.join("\n\n").slice(0, EXCERPT_CHARS);
  }
}
