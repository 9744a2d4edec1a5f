/** What one gateway runs with: the options of its starter, its environment, and the configuration in use. */
import { type AuthSettings, resolveAuth, StartupRefusal } from "./auth/mode.ts";
import { keepToken } from "./auth/secret.ts";
import { type ConfigFile, givenConfig, type Issue, readConfigFile } from "./config/file.ts";
import type { HostConfig } from "./config/host-schema.ts";
import { type Environment, type Paths, preparePaths, resolvePaths } from "./config/paths.ts";
import { secretTexts } from "./config/secret-places.ts";
import { hostConfig, type SectionOwner } from "./config/sections.ts";
import { levelFrom, type LogSettings, logSettings } from "./logs/settings.ts";
import type { GatewayOptions } from "./options.ts";
import { startIssue } from "./start-issue.ts";
import { webhookSettings } from "./webhooks/settings.ts";

const DEFAULT_PORT = 18_789;

export class Settings {
  readonly options: GatewayOptions;
  readonly env: Environment;
  readonly paths: Paths;
  /** The port that was asked for; 0 picks a free one. */
  readonly port: number;
  #file: ConfigFile;
  #config: HostConfig;

  private constructor(options: GatewayOptions, env: Environment, paths: Paths, file: ConfigFile) {
    this.options = options;
    this.env = env;
    this.paths = paths;
    this.#file = file;
    const { config, issues } = hostConfig(file);
    this.#config = config;
    this.refuse(issues);
    this.refuse(this.webhooks(config).issues);
    this.port = options.port ?? portFrom(env, config);
  }

  /** Makes the state directory and reads the configuration. @throws StartupRefusal a gateway cannot start with it */
  static async read(options: GatewayOptions): Promise<Settings> {
    const env = options.env ?? process.env;
    const paths = resolvePaths(options.stateDir === undefined ? env : { ...env, SVC_STATE_DIR: options.stateDir });
    preparePaths(paths);
    const file = options.config
      ? givenConfig(paths.configPath, options.config)
      : await readConfigFile(paths.configPath, env);
    return new Settings(options, env, paths, file);
  }

  /** The configuration in use. */
  get file(): ConfigFile {
    return this.#file;
  }
  /** The host's part of it. */
  get config(): HostConfig {
    return this.#config;
  }

  use(file: ConfigFile): void {
    this.#file = file;
    this.#config = hostConfig(file).config;
  }

  /** @throws StartupRefusal the combination is unsafe */
  auth(section: HostConfig["gateway"] = this.#config.gateway): AuthSettings {
    return resolveAuth(section, this.env, () => keepToken(this.paths.credentialsDir), this.options.auth);
  }

  log(section: HostConfig["logging"] = this.#config.logging): LogSettings {
    return logSettings(section, this.paths, this.options.logLevel ?? levelFrom(this.env), process.stderr.isTTY);
  }

  webhooks({ gateway, hooks }: HostConfig): ReturnType<typeof webhookSettings> {
    return webhookSettings(hooks, { gatewayToken: this.auth(gateway).token, configDir: this.paths.configDir });
  }

  /** The secrets of the configuration in use. @param owners of sections whose schemas mark secrets */
  secrets(owners: readonly SectionOwner[]): string[] {
    const { token = "", password = "" } = this.auth();
    return [token, password, ...secretTexts(this.#file, owners)];
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

/** `SVC_GATEWAY_PORT`, then `gateway.port`, then 18789. @throws StartupRefusal the variable is no port */
export function portFrom(env: Environment, { gateway }: HostConfig): number {
  const text = env["SVC_GATEWAY_PORT"]?.trim();
  if (!text) return gateway.port ?? DEFAULT_PORT;
  const port = Number(text);
  if (Number.isInteger(port) && port >= 0 && port <= 65_535) return port;
  throw new StartupRefusal(`SVC_GATEWAY_PORT is "${text}"; it must be a port, 0 to 65535`);
}
