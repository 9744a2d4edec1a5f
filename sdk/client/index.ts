/** Typed client of the gateway: `@svc/sdk/client`. */
export * from "./address.ts";
export * from "./client.ts";
export type { DeviceIdentity } from "./device-proof.ts";
export type { CallOptions, ClientOptions, CloseInfo, GatewayClient } from "./gateway-client.ts";
