/** Tracks the authors of the text a run has seen, and the author with the least authority. */
import { floorOf, type Origin } from "@svc/sdk";
import { unwrapped } from "@svc/sdk/external-content";
import { type Message, textOf } from "@svc/sdk/models";
import type { ToolScene } from "@svc/sdk/tools";

/** Choice: characters of one text and of all texts in an approval request; a later text cannot hide the one that led to a call. */
const TEXT_CHARS = 600;
const EXCERPT_CHARS = 1_500;

interface OutsideText {
  /** Number of the author's scopes. */
  readonly scopes: number;
  readonly text: string;
}

export class Heard {
  #floor: Origin | undefined;
  /** Newest first. */
  readonly #texts: OutsideText[] = [];
  /** The newest answer of the model to external content; all that is left of an event of an earlier turn. */
  #answer = "";
  /** Messages that no model wrote, so that no text in them is invented. */
  readonly #written: Message[] = [];

  /** @param text shown to people; empty: no longer known */
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

  /** Marks answers of the model with their run, and with the least trusted author seen so far. */
  mark(messages: readonly Message[], runId: string): readonly Message[] {
    const marks = { ...(this.#floor && { origin: this.#floor }), runId };
    return messages.map((message) => (message.role === "assistant" ? { ...message, ...marks } : message));
  }

  /** The author with the least authority; `undefined`: all text was the owner's. */
  get floor(): Origin | undefined {
    return this.#floor;
  }

  get outside(): ToolScene["outside"] {
    const saw = (text: string) => text !== "" && this.#written.some((message) => textOf(message).includes(text));
    return this.#floor && { origin: this.#floor, text: this.#excerpt(), saw };
  }

  /** As many texts as fit: least trusted authors first, and of these the newest. */
  #excerpt(): string {
    const texts = this.#texts.toSorted((left, right) => left.scopes - right.scopes).map(({ text }) => text);
    const shown = texts.length === 0 ? [this.#answer] : [...new Set(texts)];
    return shown.join("\n\n").slice(0, EXCERPT_CHARS);
  }
}
