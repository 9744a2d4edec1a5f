/** A plugin's running thread or process: monitors that it is alive, and ends it. */
import { GatewayError } from "@svc/sdk/errors";
import { type Carrier, tooMuch } from "./carriers.ts";
import type { Beat, GuestSide } from "./contract.ts";
import { Link, type LinkOptions } from "./link.ts";

/** Interval of the liveness requests. ms */
const BEAT_MS = 1_000;
/** Time without any message after which its thread counts as blocked. ms */
const STALL_MS = 5_000;
/** Factor from the heap limit to the memory limit: buffers and the runtime itself come on top of the heap. */
const HEADROOM = 2;

export class Guest {
  readonly #id: string;
  readonly #carrier: Carrier;
  readonly #link: Link;
  readonly #ended: Promise<string>;
  #stopBeating: (() => void) | undefined;
  #reason: string | undefined;
  beat: Beat | undefined;

  constructor(id: string, carrier: Carrier, options: Pick<LinkOptions, "hasIdentity" | "run"> = {}) {
    this.#id = id;
    this.#carrier = carrier;
    this.#link = new Link({
      post: (message) => carrier.post(message),
      onFault: (reason) => this.end(reason),
      ...options,
    });
    carrier.onMessage((message) => this.#link.receive(message));
    this.#ended = new Promise((resolve) => {
      carrier.onEnd((reason) => {
        this.#reason ??= reason;
        this.#fallSilent();
        resolve(this.#reason);
      });
    });
  }

  /** Resolves with the reason when the guest has ended. */
  get ended(): Promise<string> {
    return this.#ended;
  }

  get isOver(): boolean {
    return this.#reason !== undefined;
  }

  /** The API of the guest, once the guest has offered it. @throws Error the guest ended before that */
  async side(): Promise<GuestSide> {
    const root = await Promise.race([this.#link.root, this.#ended]);
    if (typeof root === "string") throw new Error(root);
    return root as GuestSide; // offered by isolation-guest.ts
  }

  /**
   * Requests liveness reports; ends the guest when the guest is blocked or uses too much memory. @param live returns
   * live services that changed since the last call
   */
  watch(side: GuestSide, memoryMb: number, live: () => Readonly<Record<string, unknown>>): void {
    let askedAt: number | undefined;
    let lastLook = performance.now();
    const look = () => {
      const now = performance.now();
      const slept = now - lastLook > 2 * BEAT_MS; // this process itself was suspended or busy and could not receive
      lastLook = now;
      if (askedAt !== undefined) {
        if (slept) askedAt = now;
        else if (now - Math.max(askedAt, this.#link.heardAt) > STALL_MS)
          this.end(`it blocked its thread for more than ${STALL_MS / 1_000} s`);
        return;
      }
      askedAt = now;
      side.beat(live()).then(
        (beat) => {
          askedAt = undefined;
          this.beat = beat;
          if (beat.memoryBytes > memoryMb * 2 ** 20 * HEADROOM) this.end(tooMuch(memoryMb));
        },
        () => undefined, // it ended; `ended` reports that
      );
    };
    const timer = setInterval(look, BEAT_MS);
    timer.unref();
    this.#stopBeating = () => clearInterval(timer);
  }

  /** @param reason of an end that was not requested */
  end(reason = "it was stopped"): void {
    this.#reason ??= reason;
    this.#fallSilent();
    this.#carrier.end();
  }

  /** Rejects pending calls as UNAVAILABLE, with a retry delay. */
  #fallSilent(): void {
    this.#stopBeating?.();
    const message = `plugin ${this.#id} is not running: ${this.#reason ?? "it ended"}`;
    this.#link.close(new GatewayError("UNAVAILABLE", message, { retryAfterMs: 1_000 }));
  }
}
