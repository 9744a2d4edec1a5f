/** A `connect` for the handshake, without a socket: a valid one, and the changes of a case. */
import { createHash, generateKeyPairSync, sign } from "node:crypto";
import { type ConnectParams, devicePayloads } from "@svc/sdk/protocol";
import { createFakeClock } from "@svc/sdk/testing";
import { Access } from "../../../host/auth/access.ts";
import { resolvePeer } from "../../../host/auth/client-address.ts";
import type { AuthSettings } from "../../../host/auth/settings.ts";
import type { GatewaySection } from "../../../host/config/host-schema.ts";
import type { HandshakeContext } from "../../../host/net/ws/handshake.ts";
import { connectFrame } from "../../raw-socket.ts";

export interface Socket {
  readonly remoteAddress: string;
  readonly headers: Record<string, string>;
}

export const local: Socket = { remoteAddress: "127.0.0.1", headers: { host: "127.0.0.1:18789" } };
export const remote: Socket = { remoteAddress: "10.0.0.9", headers: { host: "gateway.example" } };
export const NOW = 1_800_000_000_000;

/** The changes of one case to a gateway in mode token, called by a program on its own machine. */
export interface Changes extends Partial<Pick<HandshakeContext, "vouch" | "pairing">> {
  readonly peer?: Socket;
  readonly auth?: AuthSettings;
  readonly gateway?: GatewaySection;
}

export function context(changes: Changes = {}): HandshakeContext {
  const { peer = local, auth = { mode: "token", token: "right" }, gateway = {}, ...asked } = changes;
  const access = new Access(auth, gateway, 18_789, createFakeClock());
  return {
    connectionId: "conn",
    peer: resolvePeer(peer.remoteAddress, peer.headers, access.proxies),
    nonce: "nonce-1",
    access,
    now: NOW,
    vouch: () => Promise.resolve(undefined),
    pairing: () => Promise.resolve(undefined),
    ...asked,
  };
}

export const none: AuthSettings = { mode: "none" };
export const connect = (params: object = {}, frame: object = {}) =>
  JSON.stringify(connectFrame("right", params, frame));

export function device(params: object = {}, changes: Record<string, unknown> = {}) {
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const raw = Buffer.from(String(publicKey.export({ format: "jwk" }).x), "base64url");
  const claim = {
    id: createHash("sha256").update(raw).digest("hex"),
    publicKey: raw.toString("base64url"),
    signature: "",
    signedAt: NOW,
    nonce: "nonce-1",
  };
  const frame = connectFrame("right", { ...params, device: claim });
  const [v3] = devicePayloads(frame["params"] as ConnectParams, claim);
  return { ...claim, signature: sign(null, Buffer.from(v3), privateKey).toString("base64url"), ...changes };
}
