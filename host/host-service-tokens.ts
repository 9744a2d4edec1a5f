/** The services that the host itself provides, regardless of the plugins that run. */
import type { ServiceToken } from "@svc/sdk";
import { ConfigStore } from "@svc/sdk/config";
import { Backplane, Credentials, EventLoopOwners, GatewayInfo, Peers, Restarts, SharedConfig } from "@svc/sdk/gateway";
import { PluginControl } from "@svc/sdk/plugins";
import { SecretPlaces } from "@svc/sdk/secrets";
import { Webhooks } from "@svc/sdk/webhooks";

export const HOST_SERVICES = {
  Backplane,
  ConfigStore,
  Credentials,
  EventLoopOwners,
  GatewayInfo,
  Peers,
  PluginControl,
  Restarts,
  SecretPlaces,
  SharedConfig,
  Webhooks,
} as const;

/** One value per host service. */
export type HostServices = {
  readonly [K in keyof typeof HOST_SERVICES]: (typeof HOST_SERVICES)[K] extends ServiceToken<infer T> ? T : never;
};
