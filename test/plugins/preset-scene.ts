/** What a preset makes of a request: the mapping that takes it, its templates rendered, its transform called. */
import assert from "node:assert/strict";
import type { Plugin } from "@svc/sdk";
import type { Transform } from "@svc/sdk/transform";
import { type WebhookMapping, WebhookPreset } from "@svc/sdk/webhooks";
import { compileCondition, compileHeaderMatch } from "../../host/webhooks/condition.ts";
import { compileTemplate, type TemplateScope } from "../../host/webhooks/template.ts";

/** The texts of a mapping that are templates. */
const TEMPLATES = ["name", "sessionKey", "idempotencyKey", "messageTemplate", "textTemplate", "to", "model"] as const;

export interface Request {
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly payload: unknown;
}

export interface Made {
  readonly mapping: WebhookMapping;
  /** By key of the mapping. */
  readonly texts: Readonly<Record<string, string>>;
  /** Places that named nothing. */
  readonly missing: readonly string[];
  /** What the transform returned; `undefined` also where there is none. */
  readonly transformed: unknown;
}

/** What the plugin contributes as a preset, set up with this configuration. */
export function presetOf(plugin: Plugin, config: unknown): { id: string; preset: WebhookPreset } {
  const found: { id: string; preset: WebhookPreset }[] = [];
  const extend = (point: unknown, id: string, preset: WebhookPreset) => {
    assert.equal(point, WebhookPreset);
    found.push({ id, preset });
  };
  void plugin.setup({ config, extend } as never);
  const [only, ...more] = found;
  assert.ok(only && more.length === 0);
  return only;
}

/** `undefined`: no mapping takes it. @throws what is wrong with a mapping */
export async function make({ mappings }: WebhookPreset, request: Request): Promise<Made | undefined> {
  const { path, headers = {}, payload } = request;
  const mapping = mappings.find(
    ({ match = {} }) =>
      match.path === path &&
      compileHeaderMatch(match.headers ?? {})(headers) === undefined &&
      compileCondition(match.when ?? {})(payload) === undefined,
  );
  if (!mapping) return undefined;
  const missing = new Set<string>();
  const scope: TemplateScope = {
    payload,
    headers,
    path,
    query: new URLSearchParams(),
    now: 0,
    missing: (place) => missing.add(place),
  };
  const texts = TEMPLATES.flatMap((key) => {
    const source = mapping[key];
    return typeof source !== "string" ? [] : [[key, compileTemplate(source).render(scope)] as const];
  });
  const url = new URL(`http://localhost/hooks/${path}`);
  const { transform } = mapping;
  const transformed = isFunction(transform)
    ? await transform({ payload, headers, path, url, signal: AbortSignal.timeout(1_000) })
    : undefined;
  return { mapping, texts: Object.fromEntries(texts), missing: [...missing], transformed };
}

function isFunction(transform: WebhookMapping["transform"]): transform is Transform {
  return typeof transform === "function";
}
