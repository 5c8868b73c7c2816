/** Starts the page: creates the store and mounts the app. */
import { mount } from 'svelte'
import '../ui/tokens.css'
import '../ui/base.css'
import { Store } from '../store/index.ts'
import App from './App.svelte'

const target = document.getElementById('app')
if (target === null) throw new Error('index.html has no #app')

const store = new Store()
store.start()
mount(App, { target, props: { store } })
