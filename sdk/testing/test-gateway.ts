/** A real gateway in a test: temporary state, a free port, results checked against their schemas, closed with the test. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect } from "../client/client.ts";
import type { ClientOptions, GatewayClient } from "../client/gateway-client.ts";
import type { Plugin } from "../plugin.ts";
import type { PluginReport, ReloadReport } from "../plugin-report.ts";

/** The part of `node:test`'s context that is used. */
interface TestContext {
  after(cleanUp: () => Promise<void>): void;
}

/** What to start. */
export interface TestGatewayOptions {
  /** Exactly these: values, ids of bundled plugins, paths. Default: the full bundle. */
  readonly plugins?: readonly (Plugin | string)[];
  /** The configuration, instead of a file. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** Scopes of `client`. Default: all. */
  readonly scopes?: readonly string[];
  /** Keep state across two gateways of one test. Default: a temporary directory. */
  readonly stateDir?: string;
  /** Anything else `createGateway` takes. */
  readonly gateway?: Readonly<Record<string, unknown>>;
}

/** The running gateway, as the host hands it out. */
export interface HostedGateway {
  readonly url: string;
  readonly port: number;
  readonly auth: { readonly mode: string; readonly token?: string; readonly password?: string };
  readonly warnings: readonly string[];
  plugins(): readonly PluginReport[];
  /** Loads a plugin's code anew and puts it in the place of the running version. @param id or what named it, e.g. a path */
  reload(id: string): Promise<ReloadReport>;
  /** How much of each kind plugins have declared now, e.g. `taps`: what a reload must leave as it was. */
  holdings(): Readonly<Record<string, number>>;
  stop(reason?: string): Promise<void>;
}

/** A gateway that belongs to a test. */
export interface TestGateway {
  readonly gateway: HostedGateway;
  /** Connected, with the gateway's credential. */
  readonly client: GatewayClient;
  readonly stateDir: string;
  /** One more client; closed with the test. */
  connect(options?: Partial<ClientOptions>): Promise<GatewayClient>;
}

interface Host {
  createGateway(options: object): Promise<HostedGateway>;
}

/** The host is found by name at run time: the SDK depends on nothing of ours. */
const HOST_PACKAGE = "@svc/host";

/**
 * @param t context of the test that owns it.
 * @throws whatever a start is refused with
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
    if (options.stateDir === undefined) await rm(stateDir, { recursive: true, force: true, maxRetries: 10 }); // a write may still be under way
  });
  const client = await open(options.scopes ? { scopes: options.scopes } : {});
  return { gateway, client, stateDir, connect: open };
}
