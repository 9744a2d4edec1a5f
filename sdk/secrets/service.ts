/** References to secrets: how configuration names one that is kept elsewhere, who finds it, and who may see it. Spec: http/config.md §6. */
import { type Static, Strict, Type } from "../schema.ts";
import { defineExtensionPoint, defineService } from "../service.ts";

/** Names a secret: which source, which of its configured providers (default: `secrets.defaults`), and its id there. */
export const SecretRef = Strict({
  source: Type.String({ minLength: 1, description: "Where it is kept: env, file, exec, or a source of a plugin" }),
  provider: Type.Optional(
    Type.String({ pattern: "^[a-z][a-z0-9_-]{0,63}$", description: "Which of that source; default: secrets.defaults" }),
  ),
  id: Type.String({ minLength: 1, description: "Its name there" }),
});
export type SecretRef = Static<typeof SecretRef>;

/**
 * A setting that holds a secret, as text or as a reference; hidden from readers of the configuration either way.
 * One schema of two types, no union: what is wrong with a value is told once and by its key.
 */
export function SecretSetting(options: { readonly description?: string } = {}) {
  return Type.Unsafe<string | SecretRef>({
    ...options,
    ...SecretRef,
    type: ["string", "object"],
    minLength: 1,
    sensitive: true,
  });
}

/** Whether a value of the configuration is a reference: these keys and no others, all of them texts. */
export function isSecretRef(value: unknown): value is SecretRef {
  if (typeof value !== "object" || value === null) return false;
  const { source, provider, id, ...rest } = value as Readonly<Record<string, unknown>>;
  const texts = [source, id].every((part) => typeof part === "string");
  return texts && ["string", "undefined"].includes(typeof provider) && Object.keys(rest).length === 0;
}

/** One entry of `secrets.providers`, as its source understands it. */
export interface SecretProvider {
  /** Key in `secrets.providers`. */
  readonly name: string;
  /** The entry, without `source`; empty for the default provider of a source that needs no settings. */
  readonly settings: Readonly<Record<string, unknown>>;
}

/** Where secrets come from. Contribute one with `gateway.extend(SecretSource, "vault", source)`; its id is `source` of a reference. */
export interface SecretSource {
  /** Why these settings cannot work, naming the key; `undefined` when they can. */
  check(provider: SecretProvider): string | undefined;
  /** Why this is no id of this source; `undefined` when it is one. */
  checkId(id: string, provider: SecretProvider): string | undefined;
  /**
   * Looks ids up, all at once. An id that is missing in the answer was not found.
   * @throws Error naming the provider and what is wrong, never a value
   */
  resolve(provider: SecretProvider, ids: readonly string[], signal: AbortSignal): Promise<ReadonlyMap<string, string>>;
}

/** Sources of secrets. Owner: the plugin `secrets`, which also brings `env`, `file` and `exec`. */
export const SecretSource = defineExtensionPoint<SecretSource>("secrets.source");

/** Finds secrets. */
export interface Secrets {
  /**
   * The secret a setting means: a text is itself. From the active snapshot; what is not in it is looked up and kept until the
   * next reload.
   * @throws GatewayError `UNAVAILABLE` naming the reference and what to do, never the value
   */
  reveal(setting: string | SecretRef): Promise<string>;
}

/** Finds secrets. Provided by the plugin `secrets`. */
export const Secrets = defineService<Secrets>()("secrets", "1.0.0", { remotable: true });

/** A place of the configuration that holds a secret. */
export interface SecretPlace {
  readonly path: readonly (string | number)[];
  /** The pattern it fits, `*` for members: `models.providers.*.apiKey`. */
  readonly target: string;
  /** The text, or the reference. */
  readonly value: unknown;
  /** Whether it belongs to the host or a plugin that is there; else nobody reads it. */
  readonly active: boolean;
}

/** The secrets of the running configuration, in clear: for the plugin that answers admins about them, and nobody else. */
export interface SecretPlaces {
  /** Places that are set. */
  list(): readonly SecretPlace[];
  /** Patterns of all places there can be. */
  targets(): readonly string[];
  /** What references stand for: no log shows these texts from now on. */
  found(secrets: readonly string[]): void;
}

/** Secrets of the configuration. Provided by the host. */
export const SecretPlaces = defineService<SecretPlaces>()("config.secret-places", "1.0.0");
