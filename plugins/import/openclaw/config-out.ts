/** The configuration for OpenClaw 2026.3, which refuses a key that it does not know. Pure. */
import { isAbsolute } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { isSecretRef } from "@svc/sdk/secrets";
import { at, dotted, fits, isValues, leaves, type Path, put, type Values } from "./config-paths.ts";
import { IMPORTED } from "./config-variables.ts";

/** Settings of agents and of their defaults. */
const OF_AGENTS = [
  "workspace",
  "{model,imageModel,pdfModel}",
  "{model,imageModel,pdfModel}.{primary,fallbacks}",
  "heartbeat.{every,target,to,accountId,model,prompt,session,ackMaxChars,directPolicy,includeReasoning,lightContext}",
  "heartbeat.activeHours.{start,end,timezone}",
  "subagents.{thinking,model}",
  "subagents.model.{primary,fallbacks}",
  "memorySearch.{enabled,extraPaths,fallback,model,provider,sources}",
  "memorySearch.remote.{baseUrl,apiKey}",
];

/** Settings that have the same name and meaning there. Source: http/config-keys.md. */
const KNOWN = [
  ...["agents.defaults", "agents.list[]"].flatMap((place) => OF_AGENTS.map((name) => `${place}.${name}`)),
  "agents.defaults.{bootstrapMaxChars,bootstrapTotalMaxChars,contextTokens,maxConcurrent,mediaMaxMb,skipBootstrap}",
  "agents.defaults.{thinkingDefault,timeoutSeconds,userTimezone,verboseDefault}",
  "agents.defaults.compaction.{keepRecentTokens,maxHistoryShare,mode,reserveTokens}",
  "agents.defaults.models.*",
  "agents.defaults.models.*.alias",
  "agents.defaults.subagents.{archiveAfterMinutes,maxChildrenPerAgent,maxConcurrent,maxSpawnDepth,runTimeoutSeconds}",
  "agents.list[].{id,name,default,skills}",
  "agents.list[].identity.{name,theme,emoji,avatar}",
  "agents.list[].subagents.allowAgents",
  "agents.list[].tools.{profile,allow,alsoAllow,deny}",
  "approvals.exec.{enabled,mode,agentFilter,sessionFilter}",
  "approvals.exec.targets[].{channel,to,accountId,threadId}",
  "bindings[].{agentId,comment}",
  "browser.enabled",
  "bindings[].match.{channel,accountId,guildId,teamId,roles}",
  "bindings[].match.peer.{kind,id}",
  "cron.{enabled,maxConcurrentRuns,sessionRetention,webhookToken}",
  "cron.failureAlert.{enabled,after,cooldownMs,mode,accountId}",
  "cron.failureDestination.{channel,to,accountId,mode}",
  "cron.retry.{maxAttempts,backoffMs,retryOn}",
  "cron.runLog.keepLines",
  "gateway.{port,bind,customBindHost,trustedProxies,allowRealIpFallback}",
  "gateway.auth.{mode,token,password}",
  "gateway.auth.rateLimit.{maxAttempts,windowMs,lockoutMs,exemptLoopback}",
  "gateway.auth.trustedProxy.{userHeader,requiredHeaders,allowUsers}",
  "gateway.controlUi.{enabled,basePath,allowedOrigins}",
  "gateway.http.endpoints.{chatCompletions,responses}.enabled",
  "gateway.nodes.{allowCommands,denyCommands}",
  "gateway.reload.{mode,debounceMs}",
  "gateway.tls.{enabled,autoGenerate,certPath,keyPath,caPath}",
  "gateway.tools.{allow,deny}",
  "hooks.{enabled,path,token,defaultSessionKey,allowRequestSessionKey,allowedSessionKeyPrefixes,allowedAgentIds}",
  "hooks.{maxBodyBytes,presets,transformsDir}",
  "hooks.mappings[].{id,action,wakeMode,name,agentId,sessionKey,messageTemplate,textTemplate,deliver,channel,to,model}",
  "hooks.mappings[].{thinking,timeoutSeconds,allowUnsafeExternalContent}",
  "hooks.mappings[].match.{path,source}",
  "hooks.mappings[].transform.{module,export}",
  "logging.{level,file,maxFileBytes,consoleLevel,consoleStyle,redactSensitive,redactPatterns}",
  "messages.queue.{mode,cap,debounceMs,drop}",
  "models.mode",
  "models.providers.*.{api,apiKey,auth,authHeader,baseUrl}",
  "models.providers.*.headers.*",
  "models.providers.*.models[].{id,name,api,reasoning,input,contextWindow,maxTokens}",
  "models.providers.*.models[].cost.{input,output,cacheRead,cacheWrite}",
  "session.{scope,dmScope,mainKey,idleMinutes}",
  "session.identityLinks.*",
  "session.maintenance.{mode,pruneAfter,maxEntries,rotateBytes,maxDiskBytes,highWaterBytes}",
  "session.reset.{mode,atHour,idleMinutes}",
  "session.resetByChannel.*.{mode,atHour,idleMinutes}",
  "session.resetByType.{direct,dm,group,thread}.{mode,atHour,idleMinutes}",
  "skills.entries.*.enabled",
  "tools.{profile,allow,alsoAllow,deny}",
  "tools.agentToAgent.{enabled,allow}",
  "tools.byProvider.*.{profile,allow,alsoAllow,deny}",
  "tools.exec.{security,ask,timeoutSec}",
  "tools.fs.workspaceOnly",
  "tools.sessions.visibility",
  "tools.subagents.tools.{allow,alsoAllow,deny}",
  "tools.web.fetch.{enabled,maxChars,timeoutSeconds,cacheTtlMinutes,userAgent}",
  "tools.web.search.{enabled,maxResults,timeoutSeconds,cacheTtlMinutes}",
  "update.checkOnStart",
];

/** Settings that an import writes for this gateway alone, and notes of the file about itself. */
const WITHOUT_MEANING = ["gateway.aliases", `secrets.providers.${IMPORTED}`, "meta", "$schema"];

export interface OutgoingConfig {
  /** Of this gateway, with the secrets in the places of their references. */
  readonly now: Values;
  /** What the import wrote, and the configuration it was converted from; `{}`: nothing was imported. */
  readonly imported: Values;
  readonly original: Values;
  /** Workspaces by agent id. */
  readonly workspaces: ReadonlyMap<string, string>;
  readonly defaultAgentId: string;
}

/** @returns the configuration, and the settings of this gateway that have no place in it */
export function configOut({ now, imported, original, workspaces, defaultAgentId }: OutgoingConfig): {
  readonly config: Values;
  readonly leftOut: readonly string[];
} {
  const leftOut: string[] = [];
  const config = Object(merged(original, imported, now, [], leftOut)) as Values;
  for (const [agentId, workspace] of workspaces) {
    const list = Object(config["agents"])["list"] as unknown;
    const index = Array.isArray(list) ? list.findIndex((agent) => Object(agent)["id"] === agentId) : -1;
    if (agentId === defaultAgentId) put(config, ["agents", "defaults", "workspace"], workspace);
    if (index !== -1) put(config, ["agents", "list", index, "workspace"], workspace);
  }
  const transforms = ["hooks", "transformsDir"];
  if (isAbsolute(String(at(config, transforms)))) put(config, transforms, at(now, transforms)); // they are copied
  if (Object(config["gateway"])["mode"] === undefined) put(config, ["gateway", "mode"], "local"); // it does not start without
  return { config, leftOut };
}

/** `original` with what has changed between `before` and `now`; a list of objects is one value. */
function merged(original: unknown, before: unknown, now: unknown, path: Path, leftOut: string[]): unknown {
  if (isDeepStrictEqual(before, now)) return original;
  if (!isValues(now) || !isValues(before ?? {})) return known(now, path, leftOut) ?? original;
  const [theirs, former] = [Object(original) as Values, Object(before) as Values];
  const names = new Set([...Object.keys(theirs), ...Object.keys(now)]);
  const entries = [...names].flatMap((name) => {
    if (former[name] !== undefined && now[name] === undefined) return []; // removed here
    const value = merged(theirs[name], former[name], now[name], [...path, name], leftOut);
    return value === undefined ? [] : [[name, value] as const];
  });
  if (entries.length > 0 || original !== undefined) return Object.fromEntries(entries);
  return Object.keys(now).length === 0 ? known(now, path, leftOut) : undefined;
}

/** The part of a value that is known there; `undefined`: nothing of it. */
function known(value: unknown, path: Path, leftOut: string[]): unknown {
  const isLeaf = isSecretRef(value) || leaves(value).every((leaf) => leaf.length === 0);
  if (isLeaf && isKnown(path)) return value;
  if (Array.isArray(value) && !isLeaf) {
    const items = value.map((item, index) => known(item, [...path, index], leftOut));
    return items.filter((item) => item !== undefined);
  }
  const entries = isValues(value) && !isLeaf ? Object.entries(value) : [];
  if (entries.length === 0) {
    if (value !== undefined && !WITHOUT_MEANING.some((pattern) => fits(pattern, path) !== undefined))
      leftOut.push(dotted(path));
    return undefined;
  }
  const kept = entries.flatMap(([name, item]) => {
    const part = known(item, [...path, name], leftOut);
    return part === undefined ? [] : [[name, part] as const];
  });
  return kept.length === 0 ? undefined : Object.fromEntries(kept);
}

function isKnown(path: Path): boolean {
  return KNOWN.some((pattern) => fits(pattern, path) === path.length);
}

/** A copy with the secrets in the places of their references. @param secrets by id */
export function withSecrets(value: unknown, secrets: Values): unknown {
  if (isSecretRef(value)) return value.provider === IMPORTED ? (secrets[value.id.slice(1)] ?? value) : value;
  if (Array.isArray(value)) return value.map((item) => withSecrets(item, secrets));
  if (!isValues(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, withSecrets(item, secrets)]));
}
