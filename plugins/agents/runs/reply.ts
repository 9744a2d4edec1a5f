/** The answer of a model to one question as it streams: collected into blocks, and emitted in few steps. */
import type { AssistantMessage, ModelEvent } from "@svc/sdk/models";

type Block = AssistantMessage["content"][number];
type Piece = Exclude<ModelEvent, { type: "finish" }>;

/** Collects pieces into blocks: pieces of one kind that follow each other are one block. */
export class Reply {
  readonly #blocks: Block[] = [];
  /** All text so far. */
  text = "";
  /** All thinking so far. */
  thinking = "";
  hasToolCalls = false;

  /** The blocks as they are now. */
  get content(): readonly Block[] {
    return [...this.#blocks];
  }

  add(piece: Piece): void {
    const last = this.#blocks.at(-1);
    if (piece.type === "toolCall") {
      this.hasToolCalls = true;
      const { id, name, arguments: args } = piece;
      this.#blocks.push({ type: "toolCall", id, name, arguments: args });
    } else if (piece.type === "text") {
      this.text += piece.delta;
      if (last?.type === "text") this.#replaceLast({ type: "text", text: last.text + piece.delta });
      else this.#blocks.push({ type: "text", text: piece.delta });
    } else {
      this.thinking += piece.delta;
      const signature = piece.signature === undefined ? {} : { thinkingSignature: piece.signature };
      // A signature closes its thought: what comes after it is another one.
      if (last?.type === "thinking" && last.thinkingSignature === undefined) {
        this.#replaceLast({ type: "thinking", thinking: last.thinking + piece.delta, ...signature });
      } else this.#blocks.push({ type: "thinking", thinking: piece.delta, ...signature });
    }
  }

  #replaceLast(block: Block): void {
    this.#blocks[this.#blocks.length - 1] = block;
  }
}

/**
 * Batches the text that a model streams: the first piece of a turn of the event loop is emitted at once, further pieces
 * of the same turn together. A model that is slower than the loop is not delayed.
 */
export class Pieces {
  readonly #tell: (delta: string) => void;
  #held = "";
  #turning = false;

  constructor(tell: (delta: string) => void) {
    this.#tell = tell;
  }

  add(delta: string): void {
    if (this.#turning) {
      this.#held += delta;
      return;
    }
    this.#turning = true;
    setImmediate(() => this.#turned());
    this.#tell(delta);
  }

  /** Emits what is held now, before another event. */
  flush(): void {
    const held = this.#held;
    this.#held = "";
    if (held !== "") this.#tell(held);
  }

  #turned(): void {
    this.#turning = false;
    const held = this.#held;
    this.#held = "";
    if (held !== "") this.add(held);
  }
}
