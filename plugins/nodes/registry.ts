/**
 * Connected nodes and their declarations. In memory only, since connections end with the process.
 *
 * A node has one connection: the newest. Spec: protocol/methods-node.md §6.
 */
import type { Admission } from "@svc/sdk";
import type { OfferedCommands, PairedDevice } from "@svc/sdk/devices";
import { type Platform, platformOf } from "./command-policy.ts";
import { shownLine } from "./texts.ts";

/** Choice: maximum characters of a name and of a `PATH`, and entries of a list; the rest is left out. */
const MAX_NAME = 200;
const MAX_PATH = 8_192;
const MAX_ENTRIES = 500;
/** Choice: maximum connections that are admitted but not ready; above it the oldest is dropped. */
const MAX_ADMITTED = 1_000;

/** Declaration of a node's connection, limited in size and safe to show. */
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
  /** All commands that it declares. */
  readonly declared: readonly string[];
  readonly pathEnv: string | undefined;
  readonly permissions: Readonly<Record<string, boolean>> | undefined;
  /** From the device record, not from the current claim. */
  readonly policyPlatform: Platform;
  /** Declared and approved commands. */
  readonly offered: readonly string[];
  /** Declared commands that are not approved yet. */
  readonly withheld: readonly string[];
}

/** A connected node. */
export interface ConnectedNode extends Declaration {
  /** epoch ms */
  readonly connectedAtMs: number;
}

/** Facts of the paired device on which the policy relies. */
export interface PinnedFacts {
  readonly platform?: string | undefined;
  readonly deviceFamily?: string | undefined;
}

/** The part of an admission that is used. */
interface Said extends Pick<Admission, "id" | "remoteAddress"> {
  readonly connect: Pick<Admission["connect"], "client" | "caps" | "commands" | "pathEnv" | "permissions">;
}

/** Builds the declaration of an admitted connection. @param nodeId id of its proven device */
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

/** Sorted, without duplicates and without names that are too long. */
function names(all: readonly string[]): readonly string[] {
  const fit = all.filter((name) => name.length <= MAX_NAME && shownLine(name, MAX_NAME) === name);
  return [...new Set(fit)].toSorted().slice(0, MAX_ENTRIES);
}

function boundedEntries(permissions: Readonly<Record<string, boolean>>): [string, boolean][] {
  const kept = new Set(names(Object.keys(permissions)));
  return Object.entries(permissions).filter(([name]) => kept.has(name));
}

/** The node with the commands that are approved for its device now. */
export function repinned<N extends ConnectedNode>(node: N, { commands = [], platform, deviceFamily }: PairedDevice): N {
  const pinned = new Set(commands);
  if (!node.withheld.some((command) => pinned.has(command))) return node;
  const offered = node.declared.filter((command) => pinned.has(command) || node.offered.includes(command));
  const withheld = node.declared.filter((command) => !offered.includes(command));
  return { ...node, offered, withheld, policyPlatform: platformOf(platform, deviceFamily) };
}

export class NodeRegistry {
  readonly #share: (nodeId: string, node: ConnectedNode | undefined) => void;
  /** By connection; `undefined` until `admit`. */
  readonly #admitted = new Map<string, Declaration | undefined>();
  readonly #nodes = new Map<string, ConnectedNode>();

  /** @param share tells other gateways about a node that is connected here; `undefined`: no longer */
  constructor(share: (nodeId: string, node: ConnectedNode | undefined) => void = () => {}) {
    this.#share = share;
  }

  #set(node: ConnectedNode): void {
    this.#nodes.set(node.nodeId, node);
    this.#share(node.nodeId, node);
  }

  #delete(nodeId: string): void {
    if (this.#nodes.delete(nodeId)) this.#share(nodeId, undefined);
  }

  /** Must be called before the first await about a connection, so that its close is not missed. */
  expect(connectionId: string): void {
    this.#admitted.set(connectionId, undefined);
    const [oldest] = this.#admitted.keys();
    if (this.#admitted.size > MAX_ADMITTED && oldest !== undefined) this.#admitted.delete(oldest);
  }

  /** Stores the declaration until the connection is ready or closed; no effect when it has already closed. */
  admit(declaration: Declaration): void {
    if (this.#admitted.has(declaration.connectionId)) this.#admitted.set(declaration.connectionId, declaration);
  }

  /**
   * @param now epoch ms
   * @returns the node and the connection it replaces; `undefined`: not a node
   */
  ready(connectionId: string, now: number): { node: ConnectedNode; former: ConnectedNode | undefined } | undefined {
    const declaration = this.#admitted.get(connectionId);
    this.#admitted.delete(connectionId);
    if (!declaration) return undefined;
    const former = this.#nodes.get(declaration.nodeId);
    const node = { ...declaration, connectedAtMs: now };
    this.#set(node);
    return { node, former };
  }

  /** Registers a node that was already connected, unless it is registered. @param now epoch ms */
  adopt(declaration: Declaration, now: number): void {
    if (!this.#nodes.has(declaration.nodeId)) this.#set({ ...declaration, connectedAtMs: now });
  }

  /** @returns the disconnected node; `undefined`: another connection has replaced this one, or it was not a node */
  closed(connectionId: string, nodeId: string | undefined): ConnectedNode | undefined {
    this.#admitted.delete(connectionId);
    const node = nodeId === undefined ? undefined : this.#nodes.get(nodeId);
    if (node?.connectionId !== connectionId) return undefined;
    this.#delete(node.nodeId);
    return node;
  }

  /** The node is connected to another gateway. @returns its connection here, which no longer counts */
  left(nodeId: string): ConnectedNode | undefined {
    const node = this.#nodes.get(nodeId);
    this.#delete(nodeId);
    return node;
  }

  get(nodeId: string): ConnectedNode | undefined {
    return this.#nodes.get(nodeId);
  }

  all(): readonly ConnectedNode[] {
    return [...this.#nodes.values()];
  }

  /** Offers withheld commands that were approved meanwhile. @param device its current record */
  repin(device: PairedDevice): void {
    const node = this.#nodes.get(device.deviceId);
    const now = node && repinned(node, device);
    if (now && now !== node) this.#set(now);
  }
}
