/** The configuration sections the host itself owns. Spec: http/auth.md §1, http/config-keys.md; strict: unknown keys are named. */
import { NonEmpty, type Static, Strict, Type } from "@svc/sdk";

export const GatewaySection = Strict({
  port: Type.Optional(
    Type.Integer({ minimum: 0, maximum: 65_535, description: "Default 18789; 0 picks a free port." }),
  ),
  bind: Type.Optional(Type.Enum(["loopback", "lan", "custom"])),
  customBindHost: Type.Optional(NonEmpty),
  auth: Type.Optional(
    Strict({
      mode: Type.Optional(Type.Enum(["token", "password", "none"])),
      token: Type.Optional(Type.String({ sensitive: true })),
      password: Type.Optional(Type.String({ sensitive: true })),
    }),
  ),
  controlUi: Type.Optional(
    Strict({ allowedOrigins: Type.Optional(Type.Array(NonEmpty, { description: "Full origins, or *." })) }),
  ),
});
export type GatewaySection = Static<typeof GatewaySection>;

export const PluginsSection = Strict({
  use: Type.Optional(
    Type.Array(NonEmpty, {
      description: "Exactly these plugins: ids, package names or paths. Default: the full bundle.",
    }),
  ),
  load: Type.Optional(
    Strict({ paths: Type.Optional(Type.Array(NonEmpty, { description: "Plugins to add, by path or package name." })) }),
  ),
  entries: Type.Optional(Type.Record(Type.String(), Strict({ enabled: Type.Optional(Type.Boolean()) }))),
});
export type PluginsSection = Static<typeof PluginsSection>;

export const LoggingSection = Strict({
  level: Type.Optional(Type.Enum(["debug", "info", "warn", "error", "silent"])),
});
export type LoggingSection = Static<typeof LoggingSection>;

/** Sections of the host by top-level key. */
export const HOST_SECTIONS = { gateway: GatewaySection, plugins: PluginsSection, logging: LoggingSection } as const;

/** Top-level keys that carry no configuration. */
export const FREE_KEYS: readonly string[] = ["$schema", "meta"];

export interface HostConfig {
  readonly gateway: GatewaySection;
  readonly plugins: PluginsSection;
  readonly logging: LoggingSection;
}
