/** Approvals: the button in the header, the drawer, and the inline form in a conversation. */
export { default as ApprovalsButton } from './ApprovalsButton.svelte'
export { default as ApprovalDrawer } from './ApprovalDrawer.svelte'
export { default as InlineApproval } from './InlineApproval.svelte'
