/** Contract suite of a namespace: its methods match their definitions, enforce their scopes, and survive a reload. */
import assert from "node:assert/strict";
import type { GatewayClient } from "../../client/gateway-client.ts";
import type { Contract, Method, ParamsOf } from "../../contract.ts";
import { isGatewayError, messageOf } from "../../gateway-error.ts";
import type { Plugin } from "../../plugin.ts";
import { coversScope, SCOPES } from "../../principal.ts";
import { startLeakCheck } from "../leak-check.ts";
import { type TestGateway, testGateway, type TestGatewayOptions } from "../test-gateway.ts";
import type { ContractContext } from "./context.ts";
import { observed } from "./contribution.ts";
import { openedBy } from "./resources.ts";
import { expectFits, leastOf, misfitsOf, withUnknownKey } from "./values.ts";

/** Argument of a sample function, from which the function computes the params. */
export interface NamespaceScene extends Pick<TestGateway, "client" | "stateDir"> {
  /** The latest results of earlier methods, by the key of the method in the contract. */
  readonly results: Readonly<Record<string, unknown>>;
}

/** Params, or a function that computes them when they are needed. */
export type NamespaceSample<P> = P | ((scene: NamespaceScene) => P | Promise<P>);

/** Options of `namespaceContract`. */
export interface NamespaceContractOptions<C extends Contract> extends Pick<TestGatewayOptions, "config" | "gateway"> {
  /**
   * The plugin object, or its id, package name or path. Without the object, the suite does not check `setup`; `svc
   * plugins check` does.
   */
  readonly plugin: Plugin | string;
  readonly contract: C;
  /** Further required plugins. Default: none. */
  readonly plugins?: readonly (Plugin | string)[];
  /**
   * Params that the methods must accept, by the key of the method, in an order in which the calls succeed. A method
   * without samples is called with the minimal params its schema accepts, and may refuse them.
   */
  readonly samples?: { readonly [K in keyof C]?: readonly NamespaceSample<ParamsOf<C[K]>>[] };
  /**
   * Methods that are not called with valid params, because their effect is too strong for a test or needs a second
   * party, e.g. another client.
   */
  readonly sideEffects?: readonly (keyof C & string)[];
  /** Methods whose params deliberately accept unknown keys. */
  readonly open?: readonly (keyof C & string)[];
}

/** Number of consecutive reloads. */
const RELOADS = 5;

/**
 * Registers subtests: every method is served, returns what its schema says, and rejects invalid params and callers
 * without its scope; `setup` opens nothing; reloads preserve the declarations, the methods and the connections; and
 * nothing is left open.
 */
export async function namespaceContract<C extends Contract>(
  t: ContractContext,
  options: NamespaceContractOptions<C>,
): Promise<void> {
  const leaks = startLeakCheck();
  await t.test("the namespace", (inner) => inGateway(inner, options));
  await t.test("leaves nothing open when the gateway stops", () => leaks.expectNone());
}

async function inGateway<C extends Contract>(
  t: ContractContext,
  {
    plugin,
    plugins = [],
    contract,
    samples = {},
    sideEffects = [],
    open = [],
    config = {},
    gateway: more,
  }: NamespaceContractOptions<C>,
): Promise<void> {
  const methods = Object.entries<Method>(contract);
  const opened: string[][] = [];
  const around = (setup: () => void | Promise<void>) => openedBy(setup, (kinds) => void opened.push(kinds));
  const tried = typeof plugin === "string" ? plugin : observed(plugin, { around });
  const running = await testGateway(t, {
    plugins: [tried, ...plugins],
    config,
    gateway: { logLevel: "error", ...more },
  });
  const { gateway, client } = running;
  const call = callers(running);

  await t.test("runs with everything it needs", async () => {
    const away = gateway.plugins().filter(({ state }) => state !== "active");
    const reasons = away.map(({ id, state, reason }) => `${id} is ${state}: ${reason ?? "no reason given"}`);
    assert.deepEqual(
      reasons,
      [],
      'these plugins do not run; add the plugins they wait for to `plugins` of this suite, e.g. plugins: ["storage-sqlite"], or add missing settings to `config`',
    );
  });

  for (const [key, method] of methods) {
    await t.test(`${method.name} is served and rejects invalid params`, async () => {
      const { features } = client.hello;
      if (method.advertised !== false)
        assert.ok(features.methods.includes(method.name), `${method.name} is not served; add it to gateway.serve(...)`);
      if (method.role === "node") return;
      const least = leastOf(method.params)?.value;
      const misfits = misfitsOf(method.params, least);
      const strict = (method.params as { additionalProperties?: unknown }).additionalProperties === false;
      if (!open.includes(key) && (method.params as { type?: unknown }).type === "object") {
        assert.ok(
          strict,
          `${method.name} accepts unknown keys: write its params with Strict({ ... }), or list ${key} in "open"`,
        );
        if (least !== undefined) misfits.push({ what: "with an unknown key", value: withUnknownKey(least) });
      }
      for (const { what, value } of misfits) {
        const refusal = await refusalOf(call(method), method, value);
        assert.equal(refusal.code, "INVALID_REQUEST", `${method.name} ${what}: ${refusal.message}`);
        assert.match(
          refusal.message,
          /^invalid .+ params: /,
          `${method.name} ${what} should be rejected by its schema`,
        );
      }
    });

    await t.test(`${method.name} allows only callers with the scope ${method.scope}`, async () => {
      for (const held of [[], ...SCOPES.map((scope) => [scope])]) {
        const allowed = method.scope === "none" || coversScope(held, method.scope);
        const { message } = await refusalOf(call(method, held), method, []); // the gateway checks the scope before the params
        if (method.role === "node") assert.match(message, /^unauthorized role/, method.name);
        else if (allowed) assert.doesNotMatch(message, /^missing scope/, `${method.name} with [${held.join()}]`);
        else assert.equal(message, `missing scope: ${method.scope}`, `${method.name} with [${held.join()}]`);
      }
    });
  }

  const results: Record<string, unknown> = {};
  for (const [key, method] of inOrder(methods, Object.keys(samples))) {
    if (sideEffects.includes(key) || method.role === "node") continue;
    await t.test(`${method.name} returns what its schema says`, async () => {
      const given = samples[key as keyof C] as readonly NamespaceSample<unknown>[] | undefined;
      for (const sample of given ?? [least(key, method)]) {
        const scene = { client, stateDir: running.stateDir, results };
        const params: unknown = await (typeof sample === "function"
          ? (sample as (scene: NamespaceScene) => unknown)(scene)
          : sample);
        expectFits(method.params, params ?? {}, `the sample ${JSON.stringify(params)} of ${method.name}`);
        const answer = await answerOf(await call(method)(), method, params, given !== undefined);
        if (answer) expectFits(method.result, (results[key] = answer.value), `the result of ${method.name}`);
      }
    });
  }

  await t.test(`${RELOADS} reloads preserve its methods and leave nothing open`, async () => {
    const before = gateway.holdings();
    let closed = 0;
    client.onClose(() => closed++);
    for (let round = 0; round < RELOADS; round++) {
      const { ok, reason } = await gateway.reload(typeof plugin === "string" ? plugin : plugin.id);
      assert.ok(ok, `reload ${round + 1} failed: ${reason}`);
    }
    assert.deepEqual(gateway.holdings(), before, "the declarations of the plugin must be the same after a reload");
    assert.equal(closed, 0, "a reload must not close connections");
    const { features } = (await running.connect()).hello;
    assert.deepEqual([...features.methods].sort(), [...client.hello.features.methods].sort());
  });

  if (typeof plugin === "string") return;
  await t.test("opens nothing in setup", async () => {
    // Other code may open resources during a setup. Only a kind that appears in every setup counts as opened by setup.
    const [first = [], ...others] = opened;
    const always = first.filter((kind) => others.every((kinds) => kinds.includes(kind)));
    assert.deepEqual(
      always,
      [],
      "setup may only declare; move the opening of files, sockets and timers to gateway.start(...), every or after",
    );
  });
}

/** Methods with samples first, in the order of the samples. */
function inOrder(methods: readonly [string, Method][], sampled: readonly string[]): readonly [string, Method][] {
  const place = (key: string) => (sampled.includes(key) ? sampled.indexOf(key) : sampled.length);
  return methods.toSorted(([left], [right]) => place(left) - place(right));
}

function least(key: string, { name, params }: Method): unknown {
  const made = leastOf(params);
  if (made) return made.value;
  throw new Error(
    `params of ${name} cannot be generated: pass params in samples.${key}, or list ${key} in sideEffects`,
  );
}

type Caller = () => Promise<GatewayClient>;

/**
 * The suite connects without a device, and the gateway counts such connections separately. Each call of a rate-limited
 * method therefore gets a new connection.
 */
function callers({ client, connect }: TestGateway): (method: Method, held?: readonly string[]) => Caller {
  const byScopes = new Map<string, Promise<GatewayClient>>();
  return ({ limit }, held) =>
    () => {
      if (limit) return connect(held ? { scopes: [...held] } : {});
      if (!held) return Promise.resolve(client);
      const known = byScopes.get(held.join()) ?? connect({ scopes: [...held] });
      byScopes.set(held.join(), known);
      return known;
    };
}

async function refusalOf(
  caller: Caller,
  { name }: Method,
  params: unknown,
): Promise<{ code: string; message: string }> {
  const client = await caller();
  try {
    await client.request(name, params);
  } catch (error) {
    if (isGatewayError(error)) return error;
    throw error;
  }
  return assert.fail(`${name} accepted ${JSON.stringify(params)}, which it should reject`);
}

/** @returns the result; `undefined` if the method refused generated params with an error other than `INTERNAL` */
async function answerOf(
  client: GatewayClient,
  { name }: Method,
  params: unknown,
  isSample: boolean,
): Promise<{ value: unknown } | undefined> {
  try {
    return { value: await client.request(name, params, { expectFinal: true }) };
  } catch (error) {
    const told = isGatewayError(error) && error.code !== "INTERNAL";
    if (!isSample && told) return undefined;
    throw new Error(`${name} with ${JSON.stringify(params)}: ${messageOf(error)}`, { cause: error });
  }
}
