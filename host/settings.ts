/** What one gateway runs with: the options of its starter, its environment, and the configuration in use. */
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

/** What a configuration is read with. */
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
  /** The port that was asked for; 0 picks a free one. */
  readonly port: number;
  #file: ConfigFile;
  #config: HostConfig;
  #fileRefusal: string | undefined;
  /** Of the configuration in use. */
  #auth: AuthSettings | undefined;
  /** The file as it stands and what is wrong with the host's part of it; set until the start is refused. */
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

  /** Makes the state directory and reads the configuration. @throws StartupRefusal a gateway cannot start with it */
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
   * The last configuration that worked; `undefined`: there is none, or the file says the same.
   * @param refusal why a start with the file was refused. @throws StartupRefusal it does not work any more
   */
  static async readLastGood(options: GatewayOptions, refusal: StartupRefusal): Promise<Settings | undefined> {
    if (options.config) return undefined;
    const origin = originOf(options);
    const { env, paths } = origin;
    const [kept, file] = await Promise.all([readLastGood(paths, env), readConfigFile(paths.configPath, env)]);
    const isOther = kept && !sameData(kept.expanded, file.expanded);
    return isOther ? new Settings(origin, kept, refusal.message) : undefined;
  }

  /** Keeps the configuration in use for `readLastGood`. Never throws: a gateway whose disk is full works all the same. */
  async keepAsLastGood(log: Pick<Logger, "warn">): Promise<void> {
    if (this.options.config) return;
    await keepLastGood(this.paths, this.#file).catch((err: unknown) =>
      log.warn({ err }, "the configuration in use could not be kept as the last one that worked"),
    );
  }

  /** The configuration in use. */
  get file(): ConfigFile {
    return this.#file;
  }
  /** Why the start refused the configuration file; set while the last configuration that worked is used instead. */
  get fileRefusal(): string | undefined {
    return this.#fileRefusal;
  }
  /** The host's part of it. */
  get config(): HostConfig {
    return this.#config;
  }

  use(file: ConfigFile): void {
    this.#file = file;
    this.#fileRefusal = undefined;
    this.#auth = undefined;
    this.#config = hostConfig(file).config;
  }

  /** @throws StartupRefusal the combination is unsafe */
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

  /** The secrets of the configuration in use. @param owners of sections whose schemas mark secrets */
  secrets(owners: readonly SectionOwner[]): string[] {
    const { token = "", password = "" } = this.auth();
    return [token, password, ...secretTexts(this.#file, owners)];
  }

  /**
   * Refuses a start once it is known who owns which section, so that one list names all that is wrong, the host's keys included. Until then
   * the host's wrong sections count as absent. @throws StartupRefusal
   */
  refuseWrong(owners: readonly SectionOwner[]): void {
    const { file, issues } = this.#wrong ?? { file: this.#file, issues: [] };
    const found = writtenIssues(file, owners);
    this.refuse(found.length > 0 ? found : issues);
  }

  /** Why a gateway would not start with this file, though every key of it is right. */
  refusal(file: ConfigFile): Issue | undefined {
    return startIssue(file, { env: this.env, paths: this.paths, auth: this.options.auth });
  }

  /** @throws StartupRefusal with every issue on a line and the next step, when there is one */
  refuse(issues: readonly Issue[]): void {
    if (issues.length === 0) return;
    const lines = issues.map(({ path, message }) => `  ${path || "(file)"}: ${message}`).join("\n");
    throw new StartupRefusal(
      `the configuration ${this.#file.path} is not valid:\n${lines}\nNext: correct it, then check it with: svc config validate`,
    );
  }
}

/** Without the top-level keys in which something is wrong. */
function withoutSections(resolved: PlainObject, issues: readonly Issue[]): PlainObject {
  const wrong = new Set(issues.map(({ path }) => path.split(/[.[]/, 1)[0]));
  return Object.fromEntries(Object.entries(resolved).filter(([key]) => !wrong.has(key)));
}

/** `SVC_GATEWAY_PORT`, then `gateway.port`, then 18789. @throws StartupRefusal the variable is no port */
export function portFrom(env: Environment, { gateway }: HostConfig): number {
  const text = env["SVC_GATEWAY_PORT"]?.trim();
  if (!text) return gateway.port ?? DEFAULT_PORT;
  const port = Number(text);
  if (Number.isInteger(port) && port >= 0 && port <= 65_535) return port;
  throw new StartupRefusal(`SVC_GATEWAY_PORT is "${text}"; it must be a port, 0 to 65535`);
}
