// long: tries thousands of sequences of requests
/**
 * Random histories of devices against a model: which are admitted, with which scopes, and which stay connected.
 * SVC_FAULT_SEED repeats a run, SVC_MODEL_RUNS sets the number of histories (default 60).
 */
import assert from "node:assert/strict";
import { it, type TestContext } from "node:test";
import { SCOPES } from "@svc/sdk";
import * as fc from "fast-check";
import { directoryOf } from "../../host/kernel/reload-scene.ts";
import { ADMIN, createDevice, openScene, PAIRING, READ, type Scene, WRITE } from "../../plugins/devices/scene.ts";
import { DeviceModel, type Role, type Standing } from "./device-model.ts";
import { powers, probePlugin, until } from "./scene.ts";
import type { RawSocket } from "../../raw-socket.ts";

const RUNS = Number(process.env["SVC_MODEL_RUNS"] ?? 60);
const SEED = Number(process.env["SVC_FAULT_SEED"] ?? 20_260_302);

type Step =
  | {
      readonly kind: "connect";
      readonly role: Role;
      readonly scopes: readonly string[];
      readonly by: By;
      readonly d: number;
    }
  | { readonly kind: "approve"; readonly d: number; readonly held: readonly string[] }
  | {
      readonly kind: "rotate";
      readonly d: number;
      readonly role: Role;
      readonly held: readonly string[];
      readonly scopes: readonly string[] | undefined;
    }
  | { readonly kind: "revoke"; readonly d: number; readonly role: Role }
  | { readonly kind: "reject" | "remove"; readonly d: number }
  | { readonly kind: "restart" };
/** `own`: the token of its role; `cross`: of its other role; `stolen`: of the other device; `old`: one that has ended. */
type By = "secret" | "own" | "cross" | "stolen" | "old";

const d = fc.integer({ min: 0, max: 1 });
const role = fc.constantFrom<Role>("operator", "operator", "node");
const scopes = fc.constantFrom<readonly string[]>([], [READ], [READ], [WRITE], [PAIRING], [ADMIN], [READ, PAIRING]);
const held = fc.constantFrom<readonly string[]>([PAIRING], [PAIRING, READ], [PAIRING, WRITE], [ADMIN], [WRITE]);
const maybeScopes = fc.option(scopes, { nil: undefined });
const by = fc.constantFrom<By>("secret", "secret", "own", "own", "cross", "stolen", "old");
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ kind: fc.constant("connect" as const), d, role, scopes, by }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("approve" as const), d, held }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("rotate" as const), d, role, held, scopes: maybeScopes }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("revoke" as const), d, role }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom("reject" as const, "remove" as const), d }) },
  { weight: 1, arbitrary: fc.constant<Step>({ kind: "restart" }) },
);

class History {
  readonly #t: TestContext;
  readonly #stateDir: string;
  readonly #localApproval: string;
  readonly #devices = [createDevice(), createDevice()] as const;
  readonly #model: DeviceModel;
  readonly #sockets = new Map<Standing, RawSocket>();
  #scene!: Scene;

  constructor(t: TestContext, stateDir: string, silent: boolean) {
    this.#t = t;
    this.#stateDir = stateDir;
    this.#localApproval = silent ? "silent" : "ask";
    this.#model = new DeviceModel(silent);
  }

  async open(): Promise<void> {
    const config = { devices: { localApproval: this.#localApproval } };
    this.#scene = await openScene(this.#t, { stateDir: this.#stateDir, config, plugins: [probePlugin] });
  }

  stop = () => this.#scene.gateway.stop();

  async take(one: Step): Promise<void> {
    const model = this.#model;
    const device = one.kind === "restart" ? "" : this.#device(one.d).id;
    switch (one.kind) {
      case "connect":
        return this.#connect(one);
      case "approve": {
        const { requestId } = model.requests.get(device) ?? { requestId: "none" };
        const expected = model.approve(device, one.held);
        return this.#as(one.held, "device.pair.approve", { requestId }, expected).then(() => undefined);
      }
      case "rotate": {
        const expected = model.rotate(device, one.role, one.held, one.scopes);
        const wish = { deviceId: device, role: one.role, ...(one.scopes ? { scopes: [...one.scopes] } : {}) };
        const made = (await this.#as(one.held, "device.token.rotate", wish, expected)) as {
          token: string;
          scopes: string[];
        };
        if (made) model.rotated(device, one.role, made.token, made.scopes);
        return;
      }
      case "revoke": {
        const which = { deviceId: device, role: one.role };
        await this.#as([ADMIN], "device.token.revoke", which, model.revoke(device, one.role));
        return;
      }
      case "reject": {
        const { requestId } = model.requests.get(device) ?? { requestId: "none" };
        await this.#as([PAIRING], "device.pair.reject", { requestId }, model.requests.delete(device));
        return;
      }
      case "remove":
        await this.#as([PAIRING], "device.pair.remove", { deviceId: device }, model.remove(device));
        return;
      case "restart":
        await this.stop();
        model.standing = [];
        await this.open();
    }
  }

  #device = (index: number) => this.#devices[index === 0 ? 0 : 1];

  async #connect({ d: index, role: as, scopes: wanted, by: way }: Extract<Step, { kind: "connect" }>): Promise<void> {
    const model = this.#model;
    const device = this.#device(index);
    const tokens: Record<By, string | undefined> = {
      secret: undefined,
      own: model.token(device.id, as)?.value ?? "none",
      cross: model.token(device.id, as === "node" ? "operator" : "node")?.value ?? "none",
      stolen: model.token(this.#device(1 - index).id, as)?.value ?? "none",
      old: model.dead.at(-1)?.value ?? "none",
    };
    const value = tokens[way];
    const expected = model.connect(device.id, as, wanted, value);
    const attempt = { role: as, scopes: wanted };
    const outcome = await (value === undefined
      ? this.#scene.shared(device, attempt)
      : this.#scene.byToken(device, value, attempt));
    const { code, requestId } = outcome.details;
    const got = outcome.ok ? "open" : code === "PAIRING_REQUIRED" ? "waits" : "refused";
    assert.equal(got, expected, JSON.stringify(outcome.frame.error));
    if (expected === "waits") model.waits(device.id, as, wanted, String(requestId));
    if (expected !== "open") return;
    const told = outcome.auth ?? assert.fail("no token");
    const before = model.opened(device.id, as, wanted, value !== undefined, told.deviceToken);
    if (before !== undefined) assert.equal(told.deviceToken, before, "the token is unchanged");
    assert.deepEqual([...told.scopes].sort(), [...(model.token(device.id, as)?.scopes ?? [])].sort());
    this.#sockets.set(model.standing.at(-1) ?? assert.fail(), outcome.socket);
  }

  /** @returns the response, or `undefined` for a refusal that the model expects */
  async #as(scopesHeld: readonly string[], method: string, params: object, expected: boolean): Promise<unknown> {
    const caller = await this.#scene.connect({ scopes: scopesHeld });
    const answer = await caller.request(method, params).catch(() => undefined);
    assert.equal(answer !== undefined, expected, `${method} by [${scopesHeld.join()}]`);
    await caller.close();
    return answer;
  }

  /** Exactly the connections of the model are open, each with the rights of the model. */
  async check(): Promise<void> {
    const standing = new Set(this.#model.standing);
    for (const [one, socket] of this.#sockets) {
      if (standing.has(one)) {
        assert.deepEqual(await powers(socket), one.powers);
      } else {
        await until(() => socket.ws.readyState === 3, "the close of a connection whose credential ended");
        this.#sockets.delete(one);
      }
    }
    const { paired } = await this.#scene.list();
    for (const { deviceId, scopes: has = [] } of paired) {
      const known = has.filter((scope) => SCOPES.some((one) => one === scope));
      const approved = this.#model.records.get(deviceId)?.approved ?? new Set();
      assert.deepEqual(
        known.filter(
          (scope) => !approved.has(scope) && !approved.has(ADMIN) && !(scope === READ && approved.has(WRITE)),
        ),
        [],
      );
    }
  }

  /** No ended token is accepted again. */
  async checkDead(): Promise<void> {
    for (const { value, device, role: as } of this.#model.dead) {
      if (this.#model.token(device, as)?.value === value && this.#model.token(device, as)?.live) continue;
      const identity = this.#devices.find(({ id }) => id === device) ?? assert.fail();
      assert.equal((await this.#scene.byToken(identity, value, { role: as })).ok, false, "an ended token was accepted");
    }
  }
}

it(`${RUNS} random histories of devices match the model`, { timeout: 900_000 }, async (t) => {
  const property = fc.asyncProperty(
    fc.boolean(),
    fc.array(step, { minLength: 8, maxLength: 24, size: "max" }),
    async (silent, steps) => {
      const history = new History(t, await directoryOf(t, "svc-model-"), silent);
      await history.open();
      try {
        for (const one of steps) {
          await history.take(one);
          await history.check();
        }
        await history.checkDead();
      } finally {
        await history.stop();
      }
    },
  );
  await fc.assert(property, { numRuns: RUNS, seed: SEED });
});
