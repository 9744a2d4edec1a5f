/** Number of connections per address; addresses of one IPv6 /64 network are counted together. */
import { networkOf } from "../auth/client-address.ts";

export class AddressCount {
  readonly #counts = new Map<string, number>();

  /** @returns the new count */
  add(address: string): number {
    return this.#change(address, 1);
  }

  remove(address: string): void {
    this.#change(address, -1);
  }

  #change(address: string, by: number): number {
    const network = networkOf(address);
    const count = (this.#counts.get(network) ?? 0) + by;
    if (count === 0) this.#counts.delete(network);
    else this.#counts.set(network, count);
    return count;
  }
}
