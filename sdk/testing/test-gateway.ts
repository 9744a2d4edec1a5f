/**
 * A real gateway in a test: temporary state, a free port, results validated against their schemas, closed with the
 * test.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect } from "../client/client.ts";
import type { ClientOptions, GatewayClient } from "../client/gateway-client.ts";
import type { Plugin } from "../plugin.ts";
import type { PluginReport, ReloadReport } from "../plugin-report.ts";

/** The part of `node:test`'s context used here. */
interface TestContext {
  after(cleanUp: () => Promise<void>): void;
}

/** Options of `testGateway`. */
export interface TestGatewayOptions {
  /** Exactly these plugins: values, ids of bundled plugins, or paths. Default: the full bundle. */
  readonly plugins?: readonly (Plugin | string)[];
  /** The configuration, in place of a file. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** Scopes of `client`. Default: all. */
  readonly scopes?: readonly string[];
  /** State directory, to keep state across two gateways of one test. Default: a temporary directory. */
  readonly stateDir?: string;
  /** Further options of `createGateway`. */
  readonly gateway?: Readonly<Record<string, unknown>>;
}

/** The running gateway, as returned by the host. */
export interface HostedGateway {
  readonly url: string;
  readonly port: number;
  readonly auth: { readonly mode: string; readonly token?: string; readonly password?: string };
  readonly warnings: readonly string[];
  /** Number of other gateways on the same state, as far as this one knows. */
  readonly others: number;
  plugins(): readonly PluginReport[];
  /**
   * Loads the code of a plugin again and replaces the running version.
   * @param id or the spec of the plugin, e.g. a path
   */
  reload(id: string): Promise<ReloadReport>;
  /** Number of declarations of plugins by kind, e.g. `taps`; a reload must not change them. */
  holdings(): Readonly<Record<string, number>>;
  stop(reason?: string): Promise<void>;
}

/** A gateway owned by a test. */
export interface TestGateway {
  readonly gateway: HostedGateway;
  /** Connected with the credential of the gateway. */
  readonly client: GatewayClient;
  readonly stateDir: string;
  /** Opens another client; closed with the test. */
  connect(options?: Partial<ClientOptions>): Promise<GatewayClient>;
}

interface Host {
  createGateway(options: object): Promise<HostedGateway>;
}

/** The host is imported by name at run time: the SDK depends on no other package of this repository. */
const HOST_PACKAGE = "@svc/host";

/**
 * @param t context of the owning test
 * @throws any error of the start
 */
export async function testGateway(t: TestContext, options: TestGatewayOptions = {}): Promise<TestGateway> {
  const { createGateway } = (await import(HOST_PACKAGE)) as Host;
  const stateDir = options.stateDir ?? (await mkdtemp(join(tmpdir(), "svc-test-")));
  const gateway = await createGateway({
    env: {},
    port: 0,
    stateDir,
    config: options.config ?? {},
    logLevel: "silent",
    checkResults: true,
    drainMs: 200,
    ...(options.plugins ? { plugins: options.plugins } : {}),
    ...options.gateway,
  });
  const clients: GatewayClient[] = [];
  const { token, password } = gateway.auth;
  const open = async (overrides: Partial<ClientOptions> = {}) => {
    const credential = { ...(token ? { token } : {}), ...(password ? { password } : {}) };
    const client = await connect({ url: gateway.url, ...credential, ...overrides });
    clients.push(client);
    return client;
  };
  t.after(async () => {
    await Promise.all(clients.map((client) => client.close()));
    await gateway.stop();
    if (options.stateDir === undefined) await rm(stateDir, { recursive: true, force: true, maxRetries: 10 }); // a write may still be in progress
  });
  const client = await open(options.scopes ? { scopes: options.scopes } : {});
  return { gateway, client, stateDir, connect: open };
}
