/** The services that the host itself gives: always there, whatever plugins run. */
import type { ServiceToken } from "@svc/sdk";
import {
  ConfigStore,
  Credentials,
  EventLoopOwners,
  GatewayInfo,
  PluginControl,
  PluginInstaller,
  Restarts,
  SecretPlaces,
  Webhooks,
} from "@svc/sdk/services";

export const HOST_SERVICES = {
  ConfigStore,
  Credentials,
  EventLoopOwners,
  GatewayInfo,
  PluginControl,
  PluginInstaller,
  Restarts,
  SecretPlaces,
  Webhooks,
} as const;

/** A value for each of them. */
export type HostServices = {
  readonly [K in keyof typeof HOST_SERVICES]: (typeof HOST_SERVICES)[K] extends ServiceToken<infer T> ? T : never;
};
