/** The caller's tools and tool choice, in both shapes of the API. Pure. Spec: http/responses.md §2 and §5. */
import type { ToolChoice, ToolSpec } from "@svc/sdk/models";
import { arrayAt, checked, objectAt, type Path, refuse } from "./check.ts";
import {
  AllowedTools,
  FlatChoice,
  FlatTool,
  NestedChoice,
  NestedChoiceName,
  NestedFunction,
  NestedTool,
} from "./schema.ts";

/** A tool of the request, in the flat shape. */
export interface AskedTool extends ToolSpec {
  readonly strict?: boolean;
}

/** Tools and tool choice of a request. */
export interface AskedTools {
  readonly tools: readonly AskedTool[];
  readonly choice: ToolChoice;
}

const NO_PARAMETERS = { type: "object", properties: {} };

/** @throws GatewayError `INVALID_REQUEST` for tools of other kinds, and for a choice that cannot be met */
export function askedTools(tools: unknown, choice: unknown): AskedTools {
  const listed = tools === undefined || tools === null ? [] : arrayAt(tools, ["tools"]);
  const asked = listed.map((tool, index) => askedTool(tool, ["tools", index]));
  const names = asked.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) wrong(["tools"], `there are two tools called ${twice}`);
  return withChoice(asked, choice);
}

function askedTool(value: unknown, path: Path): AskedTool {
  const tool = objectAt(value, path);
  if (tool["type"] !== "function") refuse([...path, "type"], otherKind(tool["type"], "function"));
  const {
    name,
    description = "",
    parameters = NO_PARAMETERS,
    strict,
  } = "function" in tool
    ? checked(NestedFunction, checked(NestedTool, tool, path).function, [...path, "function"])
    : checked(FlatTool, tool, path);
  return { name, description, parameters, ...(strict === undefined ? {} : { strict }) };
}

function withChoice(tools: readonly AskedTool[], value: unknown): AskedTools {
  if (value === undefined || value === null || value === "auto") return { tools, choice: "auto" };
  if (value === "none") return { tools, choice: "none" };
  if (value === "required") return required(tools);
  if (typeof value === "string") refuse(PATH, 'must be "auto", "none", "required" or an object');
  const choice = objectAt(value, PATH);
  if (choice["type"] === "allowed_tools") return allowed(tools, choice);
  if (choice["type"] !== "function") {
    refuse([...PATH, "type"], otherKind(choice["type"], "function or allowed_tools"));
  }
  const name = nameIn(choice, PATH).trim();
  if (name === "") wrong(PATH, "the name of the tool is blank");
  if (!tools.some((tool) => tool.name === name)) wrong(PATH, `tools has no tool named ${name}`);
  return { tools, choice: { name } };
}

const PATH: Path = ["tool_choice"];

function nameIn(value: unknown, path: Path): string {
  const choice = objectAt(value, path);
  if (!("function" in choice)) return checked(FlatChoice, choice, path).name;
  return checked(NestedChoiceName, checked(NestedChoice, choice, path).function, [...path, "function"]).name;
}

function required(tools: readonly AskedTool[]): AskedTools {
  if (tools.length === 0) wrong(PATH, "a tool call is required, but there are no tools");
  return { tools, choice: "required" };
}

function allowed(tools: readonly AskedTool[], value: unknown): AskedTools {
  const { mode, tools: named } = checked(AllowedTools, value, PATH);
  const names = named.map((tool, index) => nameIn(tool, [...PATH, "tools", index]));
  const unknown = names.find((name) => !tools.some((tool) => tool.name === name));
  if (unknown !== undefined) wrong(PATH, `tools has no tool named ${unknown}`);
  const left = tools.filter(({ name }) => names.includes(name));
  return mode === "required" ? required(left) : { tools: left, choice: "auto" };
}

/** The first three words are fixed. Spec: §5. */
function wrong(path: Path, issue: string): never {
  refuse(path, `invalid tool configuration: ${issue}`);
}

function otherKind(type: unknown, taken: string): string {
  const named = typeof type === "string" ? `${type.slice(0, 64)} is not supported` : "is required";
  return `${named}; supported: ${taken}`;
}
