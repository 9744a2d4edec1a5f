/** Constants of the protocol. Without schemas, so that the client, which imports them, stays small and starts quickly. */

/** Version that the client of this SDK speaks; `GENERATIONS` has those of the gateway. Spec: §9. */
export const PROTOCOL = 3;

/** Cap of clients that accept cursors and may resume with one. Choice (spec/README.md "seq"). */
export const RESUME_CAP = "resume";

/** Largest message, in bytes, that a client may send before and after it is accepted. Spec: frames-and-connect.md §1; before: choice. */
export const MAX_PAYLOAD_BYTES = { beforeConnect: 65_536, afterConnect: 26_214_400 } as const;

/** Bytes that may wait unsent on one socket before its reader counts as slow. Spec: frames-and-connect.md §12. */
export const MAX_BUFFERED_BYTES = 52_428_800;

/** Milliseconds between two `tick` events. Spec: §8. */
export const TICK_INTERVAL_MS = 15_000;

/** Milliseconds a socket may take to send an acceptable `connect`. Spec: frames-and-connect.md §3. */
export const HANDSHAKE_TIMEOUT_MS = 10_000;

/** Close codes the gateway uses. Spec: frames-and-connect.md §13. */
export const CLOSE = { normal: 1000, protocolMismatch: 1002, policy: 1008, tooLarge: 1009, restart: 1012 } as const;
