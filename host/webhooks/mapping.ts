/** A compiled mapping: which requests it accepts, and the fields it renders from them. Spec: http/webhooks.md §6. Pure. */
import { matches as fits, type TSchema } from "@svc/sdk";
import type { Transform } from "@svc/sdk/transform";
import type {
  WebhookAction,
  WebhookFields,
  WebhookMapping,
  WebhookMatch,
  WebhookTransformRef,
  WebhookVerify,
} from "@svc/sdk/webhooks";
import type { Issue } from "../config/file.ts";
import { type Condition, ConditionError, compileCondition, compileHeaderMatch } from "./condition.ts";
import { compileTemplate, type Template, TemplateError, type TemplateScope } from "./template.ts";

/** Origin of a mapping. */
export interface MappingSource {
  readonly id: string;
  /** `config`, or `preset:<id>`. */
  readonly origin: string;
  /** For reports, e.g. `hooks.mappings[0]`. */
  readonly place: string;
  readonly enabled: boolean;
  /** Default `webhook`. */
  readonly contentSource?: WebhookMapping["contentSource"];
}

/** The parts of a request that a match checks. */
export interface MatchSubject {
  /** Sub-path without leading and trailing slashes. */
  readonly path: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly payload: unknown;
}

export interface CompiledMapping extends MappingSource {
  /** `undefined`: every path. */
  readonly path: string | undefined;
  readonly match: WebhookMatch | undefined;
  /** `undefined`: the default action. */
  readonly action: string | undefined;
  readonly verify: WebhookVerify;
  readonly secrets: readonly string[];
  readonly idempotencyKey: Template | undefined;
  readonly transform: WebhookTransformRef | Transform | undefined;
  /** Texts reach the action marked as external content. */
  readonly wrapped: boolean;
  readonly contentSource: "webhook" | "email";
  /** Keys for the action, with each text compiled to a template. */
  readonly values: ReadonlyMap<string, unknown>;
  /** Why the mapping does not accept the request, or `undefined`. */
  refusal(subject: MatchSubject): string | undefined;
}

/** Characters. Choice: long enough for any text, short enough that a configuration cannot delay a request. */
const MAX_TEMPLATE = 65_536;
/** Keys that every mapping has, regardless of its action. */
const OF_EVERY_MAPPING: ReadonlySet<string> = new Set([
  "id",
  "enabled",
  "match",
  "action",
  "verify",
  "idempotencyKey",
  "transform",
  "allowUnsafeExternalContent",
]);
/** Verifier of mappings that name none: the hook token. */
export const BEARER = "bearer";

/** @param source.issues receives what cannot work, with its place */
export function compileMapping(
  mapping: WebhookMapping,
  { issues, ...source }: MappingSource & { readonly issues: Issue[] },
): CompiledMapping {
  const { match, verify = { type: BEARER } } = mapping;
  const attempt = <T>(key: string, work: () => T): T | undefined => {
    try {
      return work();
    } catch (error) {
      if (!(error instanceof TemplateError || error instanceof ConditionError)) throw error;
      issues.push({ path: `${source.place}.${key}`, message: error.message });
      return undefined;
    }
  };
  const values = new Map<string, unknown>();
  for (const [key, value] of Object.entries(mapping))
    if (!OF_EVERY_MAPPING.has(key) && value !== undefined) {
      const compiled = attempt(key, () => mapLeaves(value, compileLeaf));
      if (compiled !== undefined) values.set(key, compiled);
    }
  const path = match?.path?.trim().replace(/^\/+|\/+$/g, "") || undefined;
  const keyText = mapping.idempotencyKey;
  issues.push(...verifyIssues(verify, source.place));
  return {
    ...source,
    path,
    match,
    action: mapping.action,
    verify,
    secrets: [verify.secret ?? []].flat(),
    idempotencyKey: keyText === undefined ? undefined : attempt("idempotencyKey", () => compileTemplate(keyText)),
    transform: mapping.transform,
    wrapped: mapping.allowUnsafeExternalContent !== true,
    contentSource: source.contentSource ?? "webhook",
    values,
    refusal: compileMatch(
      path,
      match,
      match?.headers && attempt("match.headers", () => compileHeaderMatch(match.headers ?? {})),
      match?.when && attempt("match.when", () => compileCondition(match.when ?? {})),
    ),
  };
}

function compileMatch(
  path: string | undefined,
  match: WebhookMatch | undefined,
  headers: ReturnType<typeof compileHeaderMatch> | undefined,
  when: Condition | undefined,
): CompiledMapping["refusal"] {
  const source = match?.source;
  return (subject) => {
    if (path !== undefined && path !== subject.path) return `the path is not ${path}`;
    if (source !== undefined && sourceOf(subject.payload) !== source) return `payload.source is not "${source}"`;
    return headers?.(subject.headers) ?? when?.(subject.payload);
  };
}

function sourceOf(payload: unknown): unknown {
  return typeof payload === "object" && payload !== null && Object.hasOwn(payload, "source")
    ? (payload as { source: unknown }).source // any JSON value, only compared
    : undefined;
}

/** Choice: fail closed. A verifier without a secret would admit everyone, so it is invalid. */
function verifyIssues({ type, secret }: WebhookVerify, place: string): Issue[] {
  const secrets = [secret ?? []].flat();
  if (type === BEARER)
    return secrets.length === 0
      ? []
      : [
          {
            path: `${place}.verify.secret`,
            message: "is not used with type bearer, which checks hooks.token; remove it",
          },
        ];
  if (secrets.length === 0)
    return [
      {
        path: `${place}.verify.secret`,
        message: `is required for type ${type}: the secret that the sender signs with`,
      },
    ];
  return secrets.some((one) => one.trim() === "")
    ? [{ path: `${place}.verify.secret`, message: "must not be blank" }]
    : [];
}

/** @throws TemplateError */
function compileLeaf(leaf: unknown): unknown {
  if (typeof leaf !== "string") return leaf;
  if (leaf.length > MAX_TEMPLATE) throw new TemplateError(`is longer than ${MAX_TEMPLATE} characters`);
  return compileTemplate(leaf);
}

/** A copy with every leaf replaced; templates are leaves. */
function mapLeaves(value: unknown, map: (leaf: unknown) => unknown): unknown {
  if (isTemplate(value)) return map(value);
  if (Array.isArray(value)) return value.map((item) => mapLeaves(item, map));
  if (typeof value !== "object" || value === null) return map(value);
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, mapLeaves(item, map)]));
}

function isTemplate(value: unknown): value is Template {
  return typeof value === "object" && value !== null && "render" in value && typeof value.render === "function";
}

/** Schemas of the keys a mapping may have for an action, by key. */
function keysOf({ fields, mappingFields, mappingKeys = {} }: WebhookAction): Readonly<Record<string, TSchema>> {
  if (mappingFields) return mappingFields.properties;
  const entries = Object.entries(fields.properties).map(([field, schema]) => [mappingKeys[field] ?? field, schema]);
  return Object.fromEntries(entries) as Record<string, TSchema>; // of a schema of an object
}

/** The field of an action that a key of a mapping fills; `undefined`: the action has no such key. */
export function fieldOf(action: WebhookAction, key: string): string | undefined {
  if (!Object.hasOwn(keysOf(action), key)) return undefined;
  return Object.entries(action.mappingKeys ?? {}).find(([, from]) => from === key)?.[0] ?? key;
}

/** Whether the text of a key is used literally, not as a template. */
function isLiteral(action: WebhookAction, key: string): boolean {
  return (keysOf(action)[key] as { template?: unknown } | undefined)?.template === false; // keyword of this gateway
}

/** Whether a field carries external content. */
export function isExternal({ fields }: WebhookAction, field: string): boolean {
  const schema = fields.properties[field] as { external?: unknown } | undefined; // keyword of this gateway
  return schema?.external === true;
}

/**
 * The fields that a mapping passes to an action. Texts that are blank after rendering are omitted.
 * @param texts false: without external texts, which were written for another action
 * @throws GatewayError `INVALID_REQUEST` when a text gets too long
 */
export function renderFields(
  mapping: CompiledMapping,
  action: WebhookAction,
  scope: TemplateScope,
  texts = true,
): WebhookFields {
  const rendered: [string, unknown][] = [];
  for (const [key, value] of mapping.values) {
    const field = fieldOf(action, key);
    if (field === undefined || (!texts && isExternal(action, field))) continue;
    const literal = isLiteral(action, key);
    const made = mapLeaves(value, (leaf) => (isTemplate(leaf) ? (literal ? leaf.source : leaf.render(scope)) : leaf));
    if (typeof made !== "string" || made.trim() !== "") rendered.push([field, made]);
  }
  return Object.fromEntries(rendered);
}

/** An action by its id. */
interface NamedAction {
  readonly id: string;
  readonly value: WebhookAction;
}

/**
 * Keys of a mapping that its action does not accept. Checked when the configuration is loaded and when plugins change.
 * The transform of a mapping may choose another action, so then the keys of other actions are allowed, too.
 * @param all every existing action
 */
export function actionIssues(
  { values, place, transform }: CompiledMapping,
  { id, value: action }: NamedAction,
  all: Iterable<NamedAction>,
): Issue[] {
  return [...values].flatMap(([key, value]): Issue[] => {
    const path = `${place}.${key}`;
    if (fieldOf(action, key) !== undefined) {
      const schema = keysOf(action)[key];
      return schema && !takes(action, schema, value)
        ? [{ path, message: `is not a value that the action "${id}" accepts${choices(schema)}` }]
        : [];
    }
    const other = [...all].find((one) => fieldOf(one.value, key) !== undefined);
    if (!other) return [{ path: place, message: `unexpected property '${key}'` }];
    const message = `has no effect: it is a key of the action "${other.id}", and this mapping's action is "${id}"; remove it`;
    return transform ? [] : [{ path, message }];
  });
}

/** Whether an action accepts a value as written in the configuration. The output of a template is only known when it is rendered. */
function takes({ mappingFields }: WebhookAction, schema: TSchema, value: unknown): boolean {
  let hasTemplate = false;
  const written = mapLeaves(value, (leaf) => {
    if (!isTemplate(leaf)) return leaf;
    hasTemplate ||= leaf.source.includes("{{");
    return leaf.source;
  });
  return (!mappingFields && (hasTemplate || written === "")) || fits(schema, written);
}

/** Keys of an override that are not fields of the action. */
const OVERRIDE_KEYS: ReadonlySet<string> = new Set(["kind", "action", "allowUnsafeExternalContent"]);

/** The fields of a transform's result that an action accepts, and the keys that it does not. Null or absent values keep the base. */
export function fittingFields(
  override: WebhookFields,
  action: WebhookAction,
): { readonly fitting: WebhookFields; readonly left: readonly string[] } {
  const fitting: [string, unknown][] = [];
  const left: string[] = [];
  for (const [key, value] of Object.entries(override)) {
    if (OVERRIDE_KEYS.has(key) || value === undefined || value === null) continue;
    const field = Object.hasOwn(action.fields.properties, key) ? key : fieldOf(action, key);
    const schema = field === undefined ? undefined : action.fields.properties[field];
    if (field !== undefined && schema && fits(schema, value)) fitting.push([field, value]);
    else left.push(key);
  }
  return { fitting: Object.fromEntries(fitting), left };
}

function choices(schema: object): string {
  const values = "enum" in schema && Array.isArray(schema.enum) ? schema.enum : [];
  return values.length > 0 ? `; it may be ${values.join(" or ")}` : "";
}
