/** The hook `httpRequest`: plugins may answer any request before it is looked at. One way to ask for everything that takes HTTP. */
import type { IncomingMessage } from "node:http";
import { HOOKS } from "@svc/sdk";
import type { Access } from "../../auth/access.ts";
import { resolvePeer } from "../../auth/client-address.ts";
import type { HookBus } from "../../hooks/hook-bus.ts";

/** What a plugin answers. */
export interface EarlyAnswer {
  readonly status: number;
  readonly body?: unknown;
}

/** @param path in its one spelling. @returns `undefined`: nobody answers */
export type EarlyReply = (request: IncomingMessage, path: string) => Promise<EarlyAnswer | undefined>;

/** `undefined` while nobody tapped it: then there is nothing to wait for. */
export function createEarlyReply(hooks: HookBus, access: Access): () => EarlyReply | undefined {
  const early = hooks.emitter(HOOKS.httpRequest);
  const ask: EarlyReply = ({ method = "", headers, socket }, path) => {
    const peer = resolvePeer(socket.remoteAddress, headers, access.proxies);
    return early.emit({ method, path, headers, remoteAddress: peer.clientAddress ?? peer.remoteAddress });
  };
  return () => (early.isUsed() ? ask : undefined);
}
