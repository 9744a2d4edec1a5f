/** The result of `talk.config`: the sections as voice clients read them. Spec: protocol/methods-talk.md §1. */
import { isGatewayError, matches, type ResultOf, Type } from "@svc/sdk";
import type { ConfigStore } from "@svc/sdk/config";
import type { SecretRef } from "@svc/sdk/secrets";
import type { talk, TalkSettings } from "@svc/sdk/talk";
import type { TalkConfig } from "./config.ts";

type Voice = NonNullable<TalkConfig["providers"]>[string];

/** Provider of values that stand beside `provider`. Spec: §1. */
const DEFAULT_PROVIDER = "elevenlabs";
/** Shown instead of a key, as `config.get` does. */
const REDACTED = "__SVC_REDACTED__";

/** What the result is made of. */
export interface SettingsParts {
  readonly config: TalkConfig;
  /** `ui.seamColor`; absent: none is set. */
  readonly seamColor: string | undefined;
  /** Key of the main session; absent: no plugin has sessions. */
  readonly mainKey: string | undefined;
  /** Returns the value of a key. Absent: keys are hidden. */
  readonly reveal?: ((key: string | SecretRef) => Promise<string>) | undefined;
}

/** The part of the configuration that belongs to the plugin `control-panel`. */
const Coloured = Type.Object({ ui: Type.Object({ seamColor: Type.String() }) });

/** `ui.seamColor`. Choice: none while the configuration file is invalid or unreadable, since the voice does not depend on it. */
export async function seamColorOf(store: Pick<ConfigStore, "snapshot">): Promise<string | undefined> {
  try {
    const { valid, config } = await store.snapshot();
    return valid && matches(Coloured, config) ? config.ui.seamColor : undefined;
  } catch (error) {
    if (isGatewayError(error)) return undefined;
    throw error;
  }
}

/** A part without values is left out. @throws GatewayError as `reveal` does */
export async function talkSettings({
  config,
  seamColor,
  mainKey,
  reveal,
}: SettingsParts): Promise<ResultOf<typeof talk.config>> {
  const settings = mirrored(config);
  return {
    config: {
      ...(Object.keys(settings).length > 0 && { talk: await withKeys(settings, reveal) }),
      ...(mainKey !== undefined && { session: { mainKey } }),
      ...(seamColor !== undefined && { ui: { seamColor } }),
    },
  };
}

/** Adds the values beside `provider` to that provider; its own values take precedence. */
function mirrored({ provider, providers = {}, interruptOnSpeech, ...flat }: TalkConfig): TalkConfig {
  const hasFlat = Object.keys(flat).length > 0;
  const name = provider ?? (hasFlat ? DEFAULT_PROVIDER : undefined);
  const own: Voice | undefined = name !== undefined && Object.hasOwn(providers, name) ? providers[name] : undefined;
  const all = name !== undefined && hasFlat ? { ...providers, [name]: { ...flat, ...own } } : providers;
  return {
    ...(name !== undefined && { provider: name }),
    ...(Object.keys(all).length > 0 && { providers: all }),
    ...flat,
    ...(interruptOnSpeech !== undefined && { interruptOnSpeech }),
  };
}

async function withKeys(settings: TalkConfig, reveal: SettingsParts["reveal"]): Promise<TalkSettings> {
  const shown = async <V extends Voice>({ apiKey, ...voice }: V) => ({
    ...voice,
    ...(apiKey !== undefined && { apiKey: reveal ? await reveal(apiKey) : REDACTED }),
  });
  const { providers, ...flat } = settings;
  const entries = Object.entries(providers ?? {}).map(async ([name, voice]) => [name, await shown(voice)] as const);
  const [own, all] = await Promise.all([shown(flat), Promise.all(entries)]);
  return { ...own, ...(providers && { providers: Object.fromEntries(all) }) };
}
