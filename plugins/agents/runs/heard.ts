/** Whose words a run was shown, and those of them with the least authority. */
import { floorOf, type Origin } from "@svc/sdk";
import { unwrapped } from "@svc/sdk/external-content";
import { type Message, textOf } from "@svc/sdk/models";
import type { ToolScene } from "@svc/sdk/tools";

/** Choice: characters of the words that people are shown. */
const EXCERPT_CHARS = 1_000;

export class Heard {
  #floor: Origin | undefined;
  #text = "";
  /** What the model did not write itself: a text in it is not the model's own. */
  readonly #written: Message[] = [];

  /** @param text what of it people are shown; empty: it is not known any more */
  add(origin: Origin | undefined, text = ""): void {
    const floor = floorOf([this.#floor, origin]);
    if (floor === undefined) return;
    const isLower = floor.scopes.length < (this.#floor?.scopes.length ?? Infinity);
    const isSame = origin !== undefined && origin.scopes.length <= floor.scopes.length;
    this.#floor = floor;
    if (text !== "" && (isLower || isSame)) this.#text = text.slice(0, EXCERPT_CHARS); // the newest of those words
  }

  addMessages(messages: readonly Message[]): void {
    for (const message of messages) {
      this.add(message.origin, message.role === "assistant" ? "" : unwrapped(textOf(message)));
      if (message.role === "user" || (message.role === "toolResult" && message.origin?.kind === "web"))
        this.#written.push(message);
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
    return this.#floor && { origin: this.#floor, text: this.#text, saw };
  }
}
