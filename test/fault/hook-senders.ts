/**
 * Senders that post webhooks continuously, and the complete history of the responses. SVC_FAULT_SENDERS sets how many there are for each of
 * four paths (default 1).
 */
import { pause } from "./workload.ts";
import { HOOK_TOKEN } from "./hook-scene.ts";

/** Paths below `/hooks`; each sender has one. */
const PATHS = ["wake", "agent", "templated", "routed"] as const;
const SENDERS = Number(process.env["SVC_FAULT_SENDERS"] ?? 1);

/** Maximum webhooks of one sender waiting for the main session. Above 1,000 the oldest are merged into one; a turn shows 20. */
const MOST_OPEN = Math.min(40, Math.ceil(900 / (SENDERS * PATHS.length)));

/** One webhook, sent until it is answered; without a key only once. */
export interface Posted {
  readonly number: number;
  readonly path: (typeof PATHS)[number];
  readonly key?: string;
  /** Set by the acknowledgement. */
  runId?: string;
  /** Attempts without an acknowledgement; each of them may have been accepted. */
  cutOff: number;
  /** Whether the acknowledgement referred to an earlier accepted attempt. */
  replayed?: boolean;
}

/** The text the main session finally receives about it. */
export function markerOf({ number, path }: Posted): string {
  return isRun({ number, path }) ? `did-${number};` : `wake-${number};`;
}

/** Whether it becomes a run of an agent instead of an event. */
export function isRun({ number, path }: Pick<Posted, "number" | "path">): boolean {
  return path === "routed" ? number % 2 === 1 : path !== "wake";
}

export class HookSenders {
  readonly posted: Posted[] = [];
  /** Responses other than 200, and contradictions to an earlier response. */
  readonly wrong: string[] = [];
  /** Responses that identified a duplicate by its key. */
  repeats = 0;
  /**
   * Responses 503 with `Retry-After`, after which the webhook was sent again. `undefined`: they are wrong, and so is 503 to a webhook that a
   * fault met on its way.
   */
  refused: number | undefined;
  readonly #seen: ReadonlySet<string>;
  #number = 0;
  #origin: string | undefined;
  #faults = 0;

  /** @param seen markers the main session received */
  constructor(seen: ReadonlySet<string>) {
    this.#seen = seen;
  }

  /** Base URL; `undefined` while no gateway runs. It is set when a fault begins, and when it is over. */
  get origin(): string | undefined {
    return this.#origin;
  }

  set origin(origin: string | undefined) {
    this.#origin = origin;
    this.#faults += 1;
  }

  get acknowledged(): readonly Posted[] {
    return this.posted.filter(({ runId }) => runId !== undefined);
  }

  get cutOff(): number {
    return this.posted.reduce((sum, { cutOff }) => sum + cutOff, 0);
  }

  /** Posts until `over`, and then until every webhook with a key was answered. */
  async run(over: AbortSignal): Promise<void> {
    const senders = Array.from({ length: SENDERS }, () => PATHS).flat();
    await Promise.all(senders.map((path) => this.#sending(path, over)));
  }

  /** Sends every webhook with a key again: the gateway must recognise it as the same one. */
  async repeatAll(): Promise<void> {
    for (const posted of this.acknowledged) if (posted.key !== undefined) await this.#deliver(posted);
  }

  async #sending(path: Posted["path"], over: AbortSignal): Promise<void> {
    let open: Posted[] = [];
    let last: Posted | undefined;
    let origin: string | undefined;
    let turn = 0;
    while (!over.aborted) {
      open = open.filter((posted) => posted.runId !== undefined && !this.#seen.has(markerOf(posted)));
      if (open.length >= MOST_OPEN) {
        await pause(5);
        continue;
      }
      if (origin !== this.origin && last) await this.#deliver(last); // the same key, after a fault in between
      origin = this.origin;
      const number = ++this.#number;
      const key = turn++ % 2 === 0 ? { key: `key-${number}` } : {};
      const posted: Posted = { number, path, ...key, cutOff: 0 };
      this.posted.push(posted);
      open.push(posted);
      await this.#deliver(posted);
      if (posted.key !== undefined) last = posted;
    }
  }

  async #deliver(posted: Posted): Promise<void> {
    for (;;) {
      while (this.origin === undefined) await pause(2);
      const { origin } = this;
      const faults = this.#faults;
      try {
        const response = await send(origin, posted);
        const isRefused = response.headers.has("retry-after");
        // A suspended gateway has lost its connections to the database when it goes on; it cannot know what became of a write.
        const isUnknown = !isRefused && this.#faults !== faults;
        if (this.refused !== undefined && response.status === 503 && (isRefused || isUnknown)) {
          await response.body?.cancel();
          if (isRefused) this.refused += 1;
          else posted.cutOff += 1;
          if (isUnknown && posted.key === undefined) return;
          await pause(100);
          continue;
        }
        return this.#answered(posted, response.status, response.headers, await response.text());
      } catch (error) {
        // without a fault every request is answered
        if (this.#faults === faults) this.wrong.push(`${label(posted)} was not answered: ${reasonOf(error)}`);
        posted.cutOff += 1;
        if (posted.key === undefined) return;
      }
    }
  }

  #answered(posted: Posted, status: number, headers: Headers, text: string): void {
    if (status !== 200) {
      posted.cutOff += 1; // 503 also answers a webhook whose commit lost its connection
      return void this.wrong.push(`${label(posted)}: ${status} ${text}`);
    }
    const { runId } = JSON.parse(text) as { runId: string };
    const replayed = headers.get("idempotent-replayed") === "true";
    if (posted.runId !== undefined) {
      this.repeats += 1;
      if (posted.runId !== runId || !replayed)
        this.wrong.push(`${label(posted)}: it was ${posted.runId}, and now it is ${runId}`);
      return;
    }
    if (replayed && posted.cutOff === 0) this.wrong.push(`${label(posted)}: its first attempt was a repetition`);
    posted.runId = runId;
    posted.replayed = replayed;
  }
}

const label = ({ path, number, key = "no key" }: Posted) => `${path} ${number} (${key})`;

function reasonOf(error: unknown): string {
  const { message, cause } = error instanceof Error ? error : { message: String(error), cause: undefined };
  return cause instanceof Error ? `${message} (${cause.message})` : message;
}

const NOTE = "x".repeat(200);

function send(origin: string, { number, path, key }: Posted): Promise<Response> {
  const bodies = {
    wake: { text: `wake-${number}; ${NOTE}`, mode: "now" },
    agent: { message: `job-${number}; ${NOTE}`, name: "Direct" },
    templated: { number, note: NOTE },
    routed: { number, note: NOTE },
  };
  return fetch(`${origin}/hooks/${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${HOOK_TOKEN}`, ...(key === undefined ? {} : { "idempotency-key": key }) },
    body: JSON.stringify(bodies[path]),
  });
}
