/**
 * Capabilities: tokens in the address of a page, each valid for a limited time. In memory only. Spec: protocol/stores.md,
 * "Memory only"; methods-node.md §3.
 */
import { randomBytes } from "node:crypto";
import type { Clock } from "@svc/sdk";

/** Milliseconds for which a capability is valid. Spec: methods-node.md §3. */
export const TTL_MS = 600_000;
const TOKEN_BYTES = 18;
/** Choice: maximum capabilities; above it the oldest ends. */
const MAX_CAPABILITIES = 1_000;

export interface Capability {
  readonly token: string;
  /** epoch ms */
  readonly expiresAt: number;
  /** Aborts when it is withdrawn, also after it has expired. */
  readonly ended: AbortSignal;
}

interface Entry extends Capability {
  readonly owner: string;
  readonly ending: AbortController;
}

export class Capabilities {
  /** By token, oldest first. */
  readonly #entries = new Map<string, Entry>();
  readonly #byOwner = new Map<string, Entry>();
  readonly #clock: Pick<Clock, "now">;

  constructor(clock: Pick<Clock, "now">) {
    this.#clock = clock;
  }

  /** A new capability; the previous one of this owner ends. */
  issue(owner: string): Capability {
    this.withdraw(owner);
    const ending = new AbortController();
    const token = randomBytes(TOKEN_BYTES).toString("base64url");
    const entry = { token, owner, ending, ended: ending.signal, expiresAt: this.#clock.now() + TTL_MS };
    this.#entries.set(token, entry);
    this.#byOwner.set(owner, entry);
    const [oldest] = this.#entries.values();
    if (oldest && this.#entries.size > MAX_CAPABILITIES) this.withdraw(oldest.owner);
    return entry;
  }

  /** The capability of an owner, if it is valid for at least `ms` more milliseconds. */
  of(owner: string, ms: number): Capability | undefined {
    const entry = this.#byOwner.get(owner);
    return entry && entry.expiresAt >= this.#clock.now() + ms ? entry : undefined;
  }

  /** The valid capability with this token. */
  find(token: string): Capability | undefined {
    const entry = this.#entries.get(token);
    return entry && entry.expiresAt > this.#clock.now() ? entry : undefined;
  }

  withdraw(owner: string): void {
    const entry = this.#byOwner.get(owner);
    if (!entry) return;
    this.#byOwner.delete(owner);
    this.#entries.delete(entry.token);
    entry.ending.abort();
  }
}
