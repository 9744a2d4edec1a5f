/** The streamed answer of a model to one request: collected into blocks, and emitted in batches. */
import type { Clock } from "@svc/sdk";
import type { AssistantMessage, ModelEvent } from "@svc/sdk/models";

type Block = AssistantMessage["content"][number];
type Piece = Exclude<ModelEvent, { type: "finish" }>;

/** Collects pieces into blocks: consecutive pieces of the same kind form one block. */
export class Reply {
  readonly #blocks: Block[] = [];
  /** All text so far. */
  text = "";
  /** All thinking so far. */
  thinking = "";
  hasToolCalls = false;

  /** A copy of the current blocks. */
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
      // A signature closes a thinking block: later pieces form a new one.
      if (last?.type === "thinking" && last.thinkingSignature === undefined) {
        this.#replaceLast({ type: "thinking", thinking: last.thinking + piece.delta, ...signature });
      } else this.#blocks.push({ type: "thinking", thinking: piece.delta, ...signature });
    }
  }

  #replaceLast(block: Block): void {
    this.#blocks[this.#blocks.length - 1] = block;
  }
}

/** Choice: average rate in characters of cumulative text that one stream emits per millisecond. */
const CHARS_PER_MS = 500;

/**
 * Batches streamed text: the first piece of a turn of the event loop is emitted at once, further pieces of the same turn
 * together. Each event contains the whole text so far, so the pause between events grows with the text: 2 ms at 1,000
 * characters, 4 s at 2,000,000. A slower model is not delayed.
 */
export class Pieces {
  readonly #tell: (delta: string) => void;
  readonly #size: () => number;
  readonly #clock: Pick<Clock, "setTimeout">;
  #held = "";
  #turning = false;
  #cancelPause = () => {};

  /** @param size characters of the whole text so far */
  constructor(tell: (delta: string) => void, size: () => number, clock: Pick<Clock, "setTimeout">) {
    this.#tell = tell;
    this.#size = size;
    this.#clock = clock;
  }

  add(delta: string): void {
    if (this.#turning) {
      this.#held += delta;
      return;
    }
    this.#turning = true;
    const pauseMs = Math.floor(this.#size() / CHARS_PER_MS);
    if (pauseMs > 0) this.#cancelPause = this.#clock.setTimeout(() => this.#turned(), pauseMs);
    else setImmediate(() => this.#turned());
    this.#tell(delta);
  }

  /** Emits the held text. To be called before another event, and at the end. */
  flush(): void {
    this.#cancelPause();
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
