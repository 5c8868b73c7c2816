/** The address of the page. */
export { PAGES, SIDE_PAGES, type PageName, type RouteTarget, type SidePageName } from './route.ts'
