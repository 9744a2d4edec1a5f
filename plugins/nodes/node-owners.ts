/** Which gateway a node is connected to: of several gateways on one state, the one with the newest connection owns the node. */
import { type Logger, Turns } from "@svc/sdk";
import type { Owner, Storage } from "@svc/sdk/storage";

export interface NodeOwnersSources {
  readonly storage: Pick<Storage, "get">;
  readonly log: Pick<Logger, "warn">;
  /** Ids of the nodes that are connected here. */
  readonly connected: () => readonly string[];
  /** Called for a node that is connected to another gateway now. */
  readonly left: (nodeId: string) => void;
}

export class NodeOwners {
  readonly #sources: NodeOwnersSources;
  /** Changes of one node, one after the other. */
  readonly #turns = new Turns();
  #owner: Owner | undefined;

  constructor(sources: NodeOwnersSources) {
    this.#sources = sources;
  }

  /** Takes the nodes that are connected already. */
  async open(owner: Owner): Promise<void> {
    this.#owner = owner;
    await Promise.all(this.#sources.connected().map((nodeId) => this.connected(nodeId)));
  }

  /** Never rejects. */
  connected(nodeId: string): Promise<void> {
    return this.#change(nodeId, (owner) => owner.seize(resourceOf(nodeId)));
  }

  /** Never rejects. */
  disconnected(nodeId: string): Promise<void> {
    return this.#change(nodeId, (owner) => owner.release(resourceOf(nodeId)));
  }

  /** Finds nodes that have connected to another gateway. Never rejects. */
  async look(): Promise<void> {
    const { storage, connected, left } = this.#sources;
    await Promise.all(
      connected().map((nodeId) =>
        this.#change(nodeId, async (owner) => {
          const { sql, params } = owner.holds(resourceOf(nodeId));
          if (!(await storage.get(`SELECT 1 AS held WHERE ${sql}`, params))) left(nodeId);
        }),
      ),
    );
  }

  async #change(nodeId: string, work: (owner: Owner) => Promise<void>): Promise<void> {
    const owner = this.#owner;
    if (!owner) return; // `open` takes the connected ones
    await this.#turns
      .take(nodeId, () => work(owner))
      .catch((err: unknown) => this.#sources.log.warn({ err, nodeId }, "the gateway of a node could not be stored"));
  }
}

function resourceOf(nodeId: string): string {
  return `nodes/${nodeId}`;
}
