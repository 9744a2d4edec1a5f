/** Frames, `connect` and limits of the wire: `@svc/sdk/protocol`. */
export * from "./connect.ts";
export * from "./constants.ts";
export * from "./device-payload.ts";
export * from "./events.ts";
export * from "./frames.ts";
export * from "./generations.ts";
