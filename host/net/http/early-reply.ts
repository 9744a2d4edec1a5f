/** The hook `httpRequest`: a plugin may answer any request before it is routed. Shared by all HTTP entry points. */
import type { IncomingMessage } from "node:http";
import { HOOKS } from "@svc/sdk";
import type { Access } from "../../auth/access.ts";
import { resolvePeer } from "../../auth/client-address.ts";
import type { HookBus } from "../../hooks/hook-bus.ts";

/** Response of a plugin. */
export interface EarlyAnswer {
  readonly status: number;
  readonly body?: unknown;
}

/** @param path canonical. @returns `undefined`: no plugin answers */
export type EarlyReply = (request: IncomingMessage, path: string) => Promise<EarlyAnswer | undefined>;

/** @returns `undefined` while no plugin taps the hook, so that requests do not wait */
export function createEarlyReply(hooks: HookBus, access: Access): () => EarlyReply | undefined {
  const early = hooks.emitter(HOOKS.httpRequest);
  const ask: EarlyReply = ({ method = "", headers, socket }, path) => {
    const peer = resolvePeer(socket.remoteAddress, headers, access.proxies);
    return early.emit({ method, path, headers, remoteAddress: peer.clientAddress ?? peer.remoteAddress });
  };
  return () => (early.isUsed() ? ask : undefined);
}
