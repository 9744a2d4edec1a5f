/** The accounts that this gateway owns: it alone connects them, unless they are shared, and sends their texts. */
import { unavailable } from "@svc/sdk";
import type { Condition, Owner } from "@svc/sdk/storage";

export class OwnedAccounts {
  readonly #owned = new Set<string>();
  readonly #taking = new Map<string, Promise<boolean>>();
  #owner: Owner | undefined;
  #hasLeft = false;

  /** @param owner of the accounts and messages from now on */
  open(owner: Owner): void {
    this.#owner = owner;
  }

  /** @throws GatewayError `UNAVAILABLE` before `open` */
  get owner(): Owner {
    return this.#owner ?? unavailable("the plugin channels is starting", { retryAfterMs: 500 });
  }

  has(channel: string, accountId: string): boolean {
    return !this.#hasLeft && this.#owner?.isCurrent === true && this.#owned.has(resourceOf(channel, accountId));
  }

  /** Takes the account unless another gateway has it. Concurrent callers share one result. @throws GatewayError `UNAVAILABLE` */
  async take(channel: string, accountId: string): Promise<boolean> {
    const resource = resourceOf(channel, accountId);
    if (this.#hasLeft) return false;
    if (this.has(channel, accountId)) return true;
    const known = this.#taking.get(resource);
    if (known) return known;
    const taking = this.owner.take(resource).finally(() => this.#taking.delete(resource));
    this.#taking.set(resource, taking);
    if (await taking) this.#owned.add(resource);
    return taking;
  }

  /** Lets another gateway take the account; one that is removed or disabled here may run there. Never rejects. */
  async release(channel: string, accountId: string): Promise<void> {
    const resource = resourceOf(channel, accountId);
    if (this.#owned.delete(resource)) await this.#owner?.release(resource).catch(() => undefined); // free once this gateway ends, too
  }

  /** Leaves all accounts to other gateways, once `ended`: from now on this gateway owns none. @throws GatewayError `UNAVAILABLE` */
  async leave(ended: () => Promise<unknown>): Promise<void> {
    this.#hasLeft = true;
    await Promise.allSettled(this.#taking.values());
    await ended();
    for (const resource of this.#owned) await this.#owner?.release(resource);
  }

  /** Asks the owner of the account to send what is stored. Never rejects. */
  async nudge(channel: string, accountId: string): Promise<void> {
    await this.#owner?.nudge(resourceOf(channel, accountId));
  }

  /** Condition of each write about texts of the account. */
  holds(channel: string, accountId: string): Condition {
    return this.owner.holds(resourceOf(channel, accountId));
  }
}

function resourceOf(channel: string, accountId: string): string {
  return `channels/${channel}/${accountId}`;
}
