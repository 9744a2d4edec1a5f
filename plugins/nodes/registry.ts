/**
 * Nodes that are connected, and what they declared. Memory only: a connection does not outlive the process.
 *
 * One node, one connection: the newest counts. Spec: protocol/methods-node.md §6.
 */
import type { Admission } from "@svc/sdk";
import type { OfferedCommands, PairedDevice } from "@svc/sdk/devices";
import { type Platform, platformOf } from "./command-policy.ts";
import { shownLine } from "./texts.ts";

/** Choice: characters of a name, of a `PATH`, and entries of a list a node may declare; more is left out. */
const MAX_NAME = 200;
const MAX_PATH = 8_192;
const MAX_ENTRIES = 500;
/** Choice: connections that were admitted and are not ready yet; of more the oldest is forgotten. */
const MAX_ADMITTED = 1_000;

/** What a connection of a node said about itself, bounded and made safe to show. */
export interface Declaration {
  readonly nodeId: string;
  readonly connectionId: string;
  readonly displayName: string | undefined;
  readonly platform: string | undefined;
  readonly version: string | undefined;
  readonly deviceFamily: string | undefined;
  readonly modelIdentifier: string | undefined;
  readonly remoteIp: string | undefined;
  readonly caps: readonly string[];
  /** All it says it can carry out. */
  readonly declared: readonly string[];
  readonly pathEnv: string | undefined;
  readonly permissions: Readonly<Record<string, boolean>> | undefined;
  /** By the device record, not by what it claims now. */
  readonly policyPlatform: Platform;
  /** Declared and pinned. */
  readonly offered: readonly string[];
  /** Declared, and not pinned yet. */
  readonly withheld: readonly string[];
}

/** A node one can talk to. */
export interface ConnectedNode extends Declaration {
  /** epoch ms */
  readonly connectedAtMs: number;
}

/** Of the paired device: what the policy goes by. */
export interface PinnedFacts {
  readonly platform?: string | undefined;
  readonly deviceFamily?: string | undefined;
}

/** The part of an admitted connection that is looked at. */
interface Said extends Pick<Admission, "id" | "remoteAddress"> {
  readonly connect: Pick<Admission["connect"], "client" | "caps" | "commands" | "pathEnv" | "permissions">;
}

/** What an admitted connection of a node declares. @param nodeId id of its device, which was proven */
export function declarationOf(
  nodeId: string,
  { id, connect, remoteAddress }: Said,
  pinned: PinnedFacts | undefined,
  offer: OfferedCommands,
): Declaration {
  const { client, caps = [], commands = [], pathEnv, permissions } = connect;
  return {
    nodeId,
    connectionId: id,
    displayName: shownLine(client.displayName, MAX_NAME),
    platform: shownLine(client.platform, MAX_NAME),
    version: shownLine(client.version, MAX_NAME),
    deviceFamily: shownLine(client.deviceFamily, MAX_NAME),
    modelIdentifier: shownLine(client.modelIdentifier, MAX_NAME),
    remoteIp: shownLine(remoteAddress, MAX_NAME),
    caps: names(caps),
    declared: names(commands),
    pathEnv: shownLine(pathEnv, MAX_PATH),
    permissions: permissions && Object.fromEntries(boundedEntries(permissions)),
    policyPlatform: platformOf(pinned?.platform, pinned?.deviceFamily),
    offered: names(offer.commands),
    withheld: names(offer.withheld),
  };
}

/** Sorted, each once; what is too long to be a name is none. */
function names(all: readonly string[]): readonly string[] {
  const fit = all.filter((name) => name.length <= MAX_NAME && shownLine(name, MAX_NAME) === name);
  return [...new Set(fit)].toSorted().slice(0, MAX_ENTRIES);
}

function boundedEntries(permissions: Readonly<Record<string, boolean>>): [string, boolean][] {
  const kept = new Set(names(Object.keys(permissions)));
  return Object.entries(permissions).filter(([name]) => kept.has(name));
}

export class NodeRegistry {
  /** By connection; `undefined` while it is being looked at. */
  readonly #admitted = new Map<string, Declaration | undefined>();
  readonly #nodes = new Map<string, ConnectedNode>();

  /** To be called before anything about the connection is awaited, so that its close is not missed. */
  expect(connectionId: string): void {
    this.#admitted.set(connectionId, undefined);
    const [oldest] = this.#admitted.keys();
    if (this.#admitted.size > MAX_ADMITTED && oldest !== undefined) this.#admitted.delete(oldest);
  }

  /** Remembers what it declared until it is ready or closed; nothing when it has closed meanwhile. */
  admit(declaration: Declaration): void {
    if (this.#admitted.has(declaration.connectionId)) this.#admitted.set(declaration.connectionId, declaration);
  }

  /**
   * @param now epoch ms
   * @returns the node, and the one whose place it took; `undefined` when it is no node
   */
  ready(connectionId: string, now: number): { node: ConnectedNode; former: ConnectedNode | undefined } | undefined {
    const declaration = this.#admitted.get(connectionId);
    this.#admitted.delete(connectionId);
    if (!declaration) return undefined;
    const former = this.#nodes.get(declaration.nodeId);
    const node = { ...declaration, connectedAtMs: now };
    this.#nodes.set(node.nodeId, node);
    return { node, former };
  }

  /** Takes a node that was connected before; one that is known already counts. @param now epoch ms */
  adopt(declaration: Declaration, now: number): void {
    if (!this.#nodes.has(declaration.nodeId))
      this.#nodes.set(declaration.nodeId, { ...declaration, connectedAtMs: now });
  }

  /** @returns the node that is gone; `undefined` when another connection has taken its place, or it was none */
  closed(connectionId: string, nodeId: string | undefined): ConnectedNode | undefined {
    this.#admitted.delete(connectionId);
    const node = nodeId === undefined ? undefined : this.#nodes.get(nodeId);
    if (node?.connectionId !== connectionId) return undefined;
    this.#nodes.delete(node.nodeId);
    return node;
  }

  get(nodeId: string): ConnectedNode | undefined {
    return this.#nodes.get(nodeId);
  }

  all(): readonly ConnectedNode[] {
    return [...this.#nodes.values()];
  }

  /** What was withheld may have been approved since. @param device its record now */
  repin({ deviceId, commands = [], platform, deviceFamily }: PairedDevice): void {
    const node = this.#nodes.get(deviceId);
    const pinned = new Set(commands);
    if (!node?.withheld.some((command) => pinned.has(command))) return;
    const offered = node.declared.filter((command) => pinned.has(command) || node.offered.includes(command));
    const withheld = node.declared.filter((command) => !offered.includes(command));
    const policyPlatform = platformOf(platform, deviceFamily);
    this.#nodes.set(deviceId, { ...node, offered, withheld, policyPlatform });
  }
}
