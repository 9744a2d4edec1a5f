/** The services that the host itself provides, regardless of the plugins that run. */
import type { ServiceToken } from "@svc/sdk";
import { ConfigStore } from "@svc/sdk/config";
import { Credentials, EventLoopOwners, GatewayInfo, Restarts } from "@svc/sdk/gateway";
import { PluginControl } from "@svc/sdk/plugins";
import { SecretPlaces } from "@svc/sdk/secrets";
import { Webhooks } from "@svc/sdk/webhooks";

export const HOST_SERVICES = {
  ConfigStore,
  Credentials,
  EventLoopOwners,
  GatewayInfo,
  PluginControl,
  Restarts,
  SecretPlaces,
  Webhooks,
} as const;

/** One value per host service. */
export type HostServices = {
  readonly [K in keyof typeof HOST_SERVICES]: (typeof HOST_SERVICES)[K] extends ServiceToken<infer T> ? T : never;
};
