/** Contract suites, a gateway and fakes for tests of plugins: `@svc/sdk/testing`. */
export { channelContract, type ChannelContractOptions, type ChannelNetwork } from "./contracts/channel.ts";
export type { ChannelAbility, ChannelEvidence } from "./contracts/channel-abilities.ts";
export type { ContractContext } from "./contracts/context.ts";
export { contributionOf, type ContributionOptions } from "./contracts/contribution.ts";
export {
  namespaceContract,
  type NamespaceContractOptions,
  type NamespaceSample,
  type NamespaceScene,
} from "./contracts/namespace.ts";
export { type ContractModelServer, providerContract, type ProviderContractOptions } from "./contracts/provider.ts";
export { openedBy } from "./contracts/resources.ts";
export { toolContract, type ToolContractOptions } from "./contracts/tool.ts";
export { transformContract, type TransformContractOptions } from "./contracts/transform.ts";
export * from "./account-state.ts";
export * from "./fake-clock.ts";
export * from "./fake-model-server.ts";
export * from "./hook-probe.ts";
export * from "./leak-check.ts";
export { type CommandRun, type CommandRunOptions, runCommand } from "./run-command.ts";
export * from "./test-gateway.ts";
