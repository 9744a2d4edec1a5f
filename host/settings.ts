/** Settings of one gateway: its options, its environment, and the configuration in use. */
import type { Logger } from "@svc/sdk";
import { isBoundLocally } from "./auth/bind.ts";
import { type AuthSettings, resolveAuth, StartupRefusal } from "./auth/mode.ts";
import { keepToken } from "./auth/secret.ts";
import { type ConfigFile, givenConfig, type Issue, readConfigFile } from "./config/file.ts";
import { keepLastGood, readLastGood } from "./config/last-good.ts";
import type { HostConfig } from "./config/host-schema.ts";
import { type Environment, type Paths, preparePaths, resolvePaths } from "./config/paths.ts";
import { secretTexts } from "./config/secret-places.ts";
import { type PlainObject, sameData } from "./config/plain-data.ts";
import { hostConfig, type SectionOwner, writtenIssues } from "./config/sections.ts";
import { levelFrom, type LogSettings, logSettings } from "./logs/settings.ts";
import type { GatewayOptions } from "./options.ts";
import { startIssue } from "./start-issue.ts";
import { webhookSettings } from "./webhooks/settings.ts";

const DEFAULT_PORT = 18_789;

/** Inputs for reading a configuration. */
interface Origin {
  readonly options: GatewayOptions;
  readonly env: Environment;
  readonly paths: Paths;
}

function originOf(options: GatewayOptions): Origin {
  const env = options.env ?? process.env;
  const paths = resolvePaths(options.stateDir === undefined ? env : { ...env, SVC_STATE_DIR: options.stateDir });
  return { options, env, paths };
}

export class Settings {
  readonly options: GatewayOptions;
  readonly env: Environment;
  readonly paths: Paths;
  /** The requested port; 0 picks a free one. */
  readonly port: number;
  #file: ConfigFile;
  #config: HostConfig;
  #fileRefusal: string | undefined;
  /** Auth settings of the configuration in use. */
  #auth: AuthSettings | undefined;
  /** The original file and the issues in its host sections; unset if there are none. `refuseWrong` then refuses the start. */
  readonly #wrong: { readonly file: ConfigFile; readonly issues: readonly Issue[] } | undefined;

  private constructor({ options, env, paths }: Origin, file: ConfigFile, fileRefusal?: string) {
    this.options = options;
    this.env = env;
    this.paths = paths;
    this.#file = file;
    this.#fileRefusal = fileRefusal;
    const { config, issues } = hostConfig(file);
    this.#config = config;
    if (issues.some(({ path }) => path === "")) this.refuse(issues);
    if (issues.length > 0) {
      this.#wrong = { file, issues };
      this.#file = { ...file, resolved: withoutSections(file.resolved, issues) };
      this.#config = hostConfig(this.#file).config;
    } else this.refuse(this.webhooks(config).issues);
    this.port = options.port ?? portFrom(env, config);
  }

  /** Creates the state directory and reads the configuration. @throws StartupRefusal when a gateway cannot start with it */
  static async read(options: GatewayOptions): Promise<Settings> {
    const origin = originOf(options);
    const { env, paths } = origin;
    preparePaths(paths);
    const file = options.config
      ? givenConfig(paths.configPath, options.config)
      : await readConfigFile(paths.configPath, env);
    return new Settings(origin, file);
  }

  /**
   * The last configuration that worked; `undefined` if none is stored or it equals the file.
   * @param refusal why a start with the file was refused @throws StartupRefusal when the stored configuration no longer works
   */
  static async readLastGood(options: GatewayOptions, refusal: StartupRefusal): Promise<Settings | undefined> {
    if (options.config) return undefined;
    const origin = originOf(options);
    const { env, paths } = origin;
    const [kept, file] = await Promise.all([readLastGood(paths, env), readConfigFile(paths.configPath, env)]);
    const isOther = kept && !sameData(kept.expanded, file.expanded);
    return isOther ? new Settings(origin, kept, refusal.message) : undefined;
  }

  /** Stores the configuration in use for `readLastGood`. Never throws: a gateway also works with a full disk. */
  async keepAsLastGood(log: Pick<Logger, "warn">): Promise<void> {
    if (this.options.config) return;
    await keepLastGood(this.paths, this.#file).catch((err: unknown) =>
      log.warn({ err }, "the configuration in use could not be stored as the last one that worked"),
    );
  }

  /** The configuration in use. */
  get file(): ConfigFile {
    return this.#file;
  }
  /** Why the start refused the configuration file; set while the gateway uses the last configuration that worked. */
  get fileRefusal(): string | undefined {
    return this.#fileRefusal;
  }
  /** The host's sections of the configuration in use. */
  get config(): HostConfig {
    return this.#config;
  }

  use(file: ConfigFile): void {
    this.#file = file;
    this.#fileRefusal = undefined;
    this.#auth = undefined;
    this.#config = hostConfig(file).config;
  }

  /** @throws StartupRefusal when the settings are unsafe */
  auth(section: HostConfig["gateway"] = this.#config.gateway): AuthSettings {
    if (section !== this.#config.gateway) return this.#resolveAuth(section);
    return (this.#auth ??= this.#resolveAuth(section));
  }

  #resolveAuth(section: HostConfig["gateway"]): AuthSettings {
    return resolveAuth(section, this.env, () => keepToken(this.paths.credentialsDir), this.options.auth);
  }

  log(section: HostConfig["logging"] = this.#config.logging): LogSettings {
    return logSettings(section, this.paths, this.options.logLevel ?? levelFrom(this.env), process.stderr.isTTY);
  }

  webhooks({ gateway, hooks }: HostConfig): ReturnType<typeof webhookSettings> {
    const { token: gatewayToken } = this.auth(gateway);
    const { configDir } = this.paths;
    return webhookSettings(hooks, { gatewayToken, isLocal: isBoundLocally(gateway), configDir });
  }

  /** The secrets of the configuration in use. @param owners owners of sections; their schemas mark secrets */
  secrets(owners: readonly SectionOwner[]): string[] {
    const { token = "", password = "" } = this.auth();
    return [token, password, ...secretTexts(this.#file, owners)];
  }

  /**
   * Refuses the start if the file has issues. Runs once the owners of all sections are known, so that one list names every issue, those
   * of the host included. Until then the host's invalid sections count as absent. @throws StartupRefusal
   */
  refuseWrong(owners: readonly SectionOwner[]): void {
    const { file, issues } = this.#wrong ?? { file: this.#file, issues: [] };
    const found = writtenIssues(file, owners);
    this.refuse(found.length > 0 ? found : issues);
  }

  /** Why a gateway would not start with this file although every key is valid. */
  refusal(file: ConfigFile): Issue | undefined {
    return startIssue(file, { env: this.env, paths: this.paths, auth: this.options.auth });
  }

  /** @throws StartupRefusal when there are issues: one line per issue, and the next step */
  refuse(issues: readonly Issue[]): void {
    if (issues.length === 0) return;
    const lines = issues.map(({ path, message }) => `  ${path || "(file)"}: ${message}`).join("\n");
    throw new StartupRefusal(
      `the configuration ${this.#file.path} is not valid:\n${lines}\nNext: correct it, then check it with: svc config validate`,
    );
  }
}

/** The configuration without the top-level keys that have issues. */
function withoutSections(resolved: PlainObject, issues: readonly Issue[]): PlainObject {
  const wrong = new Set(issues.map(({ path }) => path.split(/[.[]/, 1)[0]));
  return Object.fromEntries(Object.entries(resolved).filter(([key]) => !wrong.has(key)));
}

/** `SVC_GATEWAY_PORT`, else `gateway.port`, else 18789. @throws StartupRefusal when the variable is not a port */
export function portFrom(env: Environment, { gateway }: HostConfig): number {
  const text = env["SVC_GATEWAY_PORT"]?.trim();
  if (!text) return gateway.port ?? DEFAULT_PORT;
  const port = Number(text);
  if (Number.isInteger(port) && port >= 0 && port <= 65_535) return port;
  throw new StartupRefusal(`SVC_GATEWAY_PORT is "${text}"; set it to a whole number from 0 to 65535`);
}
